'use strict'
// Planted: what was appended while a sync was running counts as synced by it.

exports.why = 'durable is ahead of the disk: a power cut takes what it had promised'
exports.oracle = 'torture'
exports.patches = [{
  file: 'packages/offset-log/lib/durability.js',
  find: 'this.#durable.set(Math.max(mark.since, this.#syncedSince))',
  replace: 'this.#durable.set(this.#file.writtenSince)'
}]
