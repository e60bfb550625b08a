// A photograph behind the field. It stays in this browser (IndexedDB) and is aligned by four clicks.

import { projective } from "./geometry.js";

const kStore = "photograph";

/**
 * @typedef {object} Kept
 * @property {Blob} file
 * @property {import("./geometry.js").Matrix | null} matrix   from the field to 0 .. 1 over the photograph
 */

/** @returns {Promise<IDBDatabase>} */
function opened() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("nearfield", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(kStore);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/**
 * @template T
 * @param {IDBTransactionMode} mode
 * @param {(store: IDBObjectStore) => IDBRequest<T>} action
 * @returns {Promise<T>}
 */
async function inStore(mode, action) {
  const database = await opened();
  return new Promise((resolve, reject) => {
    const request = action(database.transaction(kStore, mode).objectStore(kStore));
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

export class Photo {
  constructor() {
    /** @type {ImageBitmap | null} */
    this.image = null;
    /** @type {Blob | null} */
    this.file = null;
    /** @type {import("./geometry.js").Matrix | null} */
    this.matrix = null;
    /**
     * The clicks of the current alignment so far, in 0 .. 1 over the photograph; null if there is none.
     * @type {[number, number][] | null}
     */
    this.clicks = null;
  }

  /**
   * The photograph of the last visit.
   * @returns {Promise<boolean>}
   */
  async load() {
    const kept = /** @type {Kept | undefined} */ (await inStore("readonly", (store) => store.get(0)));
    if (!kept) return false;
    this.image = await createImageBitmap(kept.file);
    this.file = kept.file;
    this.matrix = kept.matrix;
    return true;
  }

  /** @param {Blob} file */
  async choose(file) {
    this.image = await createImageBitmap(file);
    this.file = file;
    this.matrix = null;
    await this.keep();
  }

  async keep() {
    if (this.file) await inStore("readwrite", (store) => store.put({ file: this.file, matrix: this.matrix }, 0));
  }

  async remove() {
    this.image = null;
    this.file = null;
    this.matrix = null;
    this.clicks = null;
    await inStore("readwrite", (store) => store.delete(0));
  }

  /**
   * Adds a click to an alignment; true when it is complete. Throws if three of the places are collinear.
   * @param {[number, number]} place    in 0 .. 1 over the photograph
   * @param {[number, number][]} places  places of the field
   */
  click(place, places) {
    if (!this.clicks) return false;
    this.clicks.push(place);
    if (this.clicks.length < 4) return false;
    const matrix = projective(places, this.clicks);
    this.clicks = null;
    if (!matrix) throw new Error("three of the four places lie in a line: choose others");
    this.matrix = matrix;
    return true;
  }
}
