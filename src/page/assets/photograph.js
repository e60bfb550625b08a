// A photograph to lie behind the field. Its file stays in this browser (IndexedDB).

import { background, changed } from "./store.js";

const kStore = "photograph";

/** @type {{file: File, image: ImageBitmap} | null} */
let photograph = null;

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
const resultOf = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result);
  request.onerror = () => reject(request.error);
});

/** @param {IDBTransactionMode} mode @param {(store: IDBObjectStore) => IDBRequest<any>} action */
async function inStore(mode, action) {
  const request = indexedDB.open("nearfield", 1);
  request.onupgradeneeded = () => request.result.createObjectStore(kStore);
  return resultOf(action((await resultOf(request)).transaction(kStore, mode).objectStore(kStore)));
}

export const hasPhotograph = () => photograph !== null;

/** Lays the photograph behind the field, if there is one. */
export function showPhotograph() {
  if (!photograph) return;
  const { file, image } = photograph;
  const { width, height } = image;
  Object.assign(background, { image: { source: image, width, height, frame: 0, captured_ms: null, isCaptureKnown: true } });
  background.key = ["photograph", file.name, file.size, file.lastModified].join(" ");
}

/**
 * Takes another photograph and keeps it for the next visit. Throws an error with words for the user.
 * @param {File} file
 */
export async function takePhotograph(file) {
  try {
    photograph = { file, image: await createImageBitmap(file) };
  } catch {
    throw new Error(`${file.name} is no picture that this browser can read.`);
  }
  try {
    await inStore("readwrite", (store) => store.put({ file }, 0));
  } catch {
    throw new Error("This browser does not keep the photograph for the next visit.");
  }
}

export async function removePhotograph() {
  photograph = null;
  await inStore("readwrite", (store) => store.delete(0));
}

inStore("readonly", (store) => store.get(0)).then(async (/** @type {{file: File} | undefined} */ kept) => {
  if (!kept || photograph) return;
  photograph = { file: kept.file, image: await createImageBitmap(kept.file) };
  changed();
}).catch(() => {});  // a browser that keeps nothing
