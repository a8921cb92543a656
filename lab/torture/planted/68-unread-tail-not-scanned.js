'use strict'
// Planted: records that the index has not read yet are not scanned.

exports.why = 'the newest records are missing in answers'
exports.oracle = 'index-answers'
exports.patches = [{
  file: 'packages/index/lib/parts.js',
  find: 'if (cover === null || segment === null) return this.#piece\n',
  replace: 'if (segment === null) this.#piece = new Piece(end, { next: () => END }, null)\n    if (cover === null || segment === null) return this.#piece\n'
}]
