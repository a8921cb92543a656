'use strict'
// Follows a text file that another process writes: finds the whole lines after the known end. A line counts once its
// line break is there.
//
// Any program may cut the file and write it anew, and it may then be as long as before. So the bytes before the known
// end are compared at each look. What changes further up is not noticed.

const { promisesOf, toPromise } = require('@millrace/flow')
const { replacedError } = require('../errors')
const { peekSumsOf } = require('../recover/identify')
const { findLineStart, LinesReader } = require('./lines-reader')

/** So much of what was read last is compared, in bytes. */
const COMPARED_SIZE = 512

class LinesFollower {
  #store
  /** The last bytes before the end. */
  #last = Buffer.alloc(0)

  /** @param {import('../lines-store').LinesStore} store */
  constructor (store) {
    this.#store = store
  }

  /** Notes what the file ends with. Call it when the log was opened. */
  async remember () {
    this.#last = await this.#readLast()
  }

  async #readLast () {
    const { blocks, end } = this.#store
    return Buffer.from(await promisesOf(blocks).read(Math.max(0, end - COMPARED_SIZE), end))
  }

  /**
   * Text files do not mark commits, so part of a batch may be seen. Sets the store's end. Refresh the size first.
   * @returns {Promise<import('../follower').News>}
   * @throws {LogError} ERR_LOG_REPLACED
   */
  async follow () {
    const store = this.#store
    const { blocks, file, end: before } = store
    if (!this.#last.equals(await this.#readLast())) {
      throw replacedError(blocks.path, `was written anew: its bytes before ${before} are others than those that were read`)
    }
    const size = blocks.size.value
    const end = size > before ? await toPromise((cb) => findLineStart({ blocks, start: before }, size, cb)) : before
    if (end > before) {
      const reader = new LinesReader(store, { from: before, stop: end, reverse: true, skipsDamage: true }, end)
      const { count, seqs } = await promisesOf(reader).next(end)
      if (count > 0) file.writtenSince = seqs[0]
      // The file may have been new when it was opened: its writer names the log before it writes a line.
      store.noted ??= await peekSumsOf(blocks, file.storage)
      store.setEnd(end)
      await this.remember()
    }
    return { since: file.writtenSince, durable: store.durableLast }
  }
}

exports.LinesFollower = LinesFollower
