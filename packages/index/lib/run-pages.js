'use strict'
// The pages of run files that are in memory, of all runs of an index.

const { PAGE_SIZE } = require('./run-format')

/** By default. */
const CACHED_PAGES = 2048
/** It begins with room for so many. */
const PAGES_MIN = 16

/**
 * They lie side by side: a search looks at a few far from each other, and each object on the way to them would have to
 * be fetched too. The one that was loaded first is the first to be read over: bytes of a page are valid until the next
 * one is read.
 */
class RunPages {
  #max
  /** Of each place: the places of the run whose page it has, and which one. @type {Array<Int32Array | null>} */
  #owners = []
  /** @type {number[]} */
  #indexes = []
  #next = 0
  bytes = Buffer.alloc(0)
  view = new DataView(this.bytes.buffer)

  /** @param {number} max */
  constructor (max) {
    this.#max = max
  }

  /** Gives a place whose page may be read over, until the next call. @returns {number}  counted from 1 */
  take () {
    if (this.#owners.length < this.#max) {
      if (this.#owners.length * PAGE_SIZE === this.bytes.length) this.#grow()
      return this.#owners.push(null)
    }
    const place = this.#next
    this.#next = (this.#next + 1) % this.#max
    const owner = this.#owners[place]
    if (owner !== null) owner[this.#indexes[place]] = 0
    this.#owners[place] = null
    return place + 1
  }

  #grow () {
    const count = Math.min(this.#max, Math.max(PAGES_MIN, 2 * this.#owners.length))
    const bytes = Buffer.allocUnsafeSlow(count * PAGE_SIZE)
    this.bytes.copy(bytes)
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** A place has a page of a run. @type {(place: number, places: Int32Array, index: number) => void} */
  give (place, places, index) {
    this.#owners[place - 1] = places
    this.#indexes[place - 1] = index
    places[index] = place
  }
}

exports.CACHED_PAGES = CACHED_PAGES
exports.RunPages = RunPages
