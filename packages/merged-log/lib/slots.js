'use strict'
// The folder of the slots: its names, and what changes in it. A slot is a folder with a number as its name, which holds
// a segmented log.

const path = require('node:path')
const { call } = require('@millrace/flow')

/** A new slot is noticed within this time, even if the system sends no events. */
const POLL_MS = 500
/** Events that arrive within this time cause one look. */
const GAP_MS = 10
const SLOT = /^(0|[1-9]\d{0,5})$/

/** @typedef {import('@millrace/block-file').Storage} Storage */

/** @type {(folder: string, slot: number) => string} */
function slotPath (folder, slot) {
  return path.join(folder, String(slot))
}

/** In order; none if the folder does not exist. @type {(folder: string, storage: Storage) => Promise<number[]>} */
async function listSlots (folder, storage) {
  const names = await listNames(folder, storage)
  return names.filter((name) => SLOT.test(name)).map(Number).sort((a, b) => a - b)
}

/** @type {(folder: string, storage: Storage) => Promise<string[]>} */
async function listNames (folder, storage) {
  try {
    return await call(storage, 'listFolder', folder)
  } catch (/** @type {any} */ err) {
    if (err.code === 'ENOENT') return []
    throw err
  }
}

/** Calls a function again and again: when a name in the folder has changed, and from time to time. */
class FolderWatch {
  #look
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  /** @type {import('@millrace/block-file').Watcher | null} */
  #watcher = null
  /** @type {Promise<void> | null} */
  #looking = null
  #isClosed = false

  /**
   * @param {string} folder
   * @param {Storage} storage
   * @param {() => Promise<void>} look
   */
  constructor (folder, storage, look) {
    this.#look = look
    this.#schedule(POLL_MS)
    storage.watch?.(folder, () => this.#schedule(GAP_MS), (err, watcher) => {
      if (err || !watcher) return
      if (this.#isClosed) watcher.close()
      else this.#watcher = watcher
    })
  }

  /** @param {number} ms */
  #schedule (ms) {
    if (this.#isClosed || this.#looking !== null) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#looking = this.#look().catch(() => {}).finally(() => {
        this.#looking = null
        this.#schedule(POLL_MS)
      })
    }, ms)
    this.#timer.unref?.()
  }

  async close () {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#watcher?.close()
    await this.#looking
  }
}

exports.FolderWatch = FolderWatch
exports.listNames = listNames
exports.listSlots = listSlots
exports.slotPath = slotPath
