'use strict'
// Planted: an unsynced end is written again where it is, and the file is not cut before.

exports.why = 'after a failed writeback ext4 keeps new blocks marked as never written, and a rewrite in place is lost'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/tail-copy.js',
  find: `    await promisesOf(this.#blocks).truncate(offset)
    await eachPart(copy, TAIL_HEADER_SIZE, TAIL_HEADER_SIZE + size, (bytes) => promisesOf(this.#blocks).append(bytes))`,
  replace: `    let at = offset
    await eachPart(copy, TAIL_HEADER_SIZE, TAIL_HEADER_SIZE + size, async (bytes) => {
      await promisesOf(this.#blocks).writeQuietly(bytes, at)
      at += bytes.length
    })`
}]
