# The scene of the page is simulated before the page's commands run, so its file of places is made first.
python3 two_planes.py
