'use strict'
// Planted: the new file of a compaction gets the log's name before it is on stable storage.

exports.why = 'after a power cut the log has a file with parts that never came there'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/compactor.js',
  find: `    await this.#writePages()
    await promisesOf(this.#target).sync()`,
  replace: '    await this.#writePages()'
}, {
  file: 'packages/offset-log/lib/compactor.js',
  find: `SLOT_POSITIONS[0])
    await promisesOf(this.#target).sync()`,
  replace: 'SLOT_POSITIONS[0])'
}]
