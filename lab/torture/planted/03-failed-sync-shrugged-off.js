'use strict'
// Planted: a sync that fails is a failure of that call, and of nothing else.

exports.why = 'the log goes on over pages that will never be written, and promises what comes after them'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/durability.js',
  find: '      this.poison(/** @type {Error} */ (err))\n    }\n    this.#running = null\n    if (this.error !== null) return running.reject(this.error)',
  replace: '      this.#running = null\n      return running.reject(/** @type {Error} */ (err))\n    }\n    this.#running = null'
}, {
  file: 'packages/offset-log/lib/durability.js',
  find: 'throw this.poison(/** @type {Error} */ (err))\n    }\n    this.#isDirty = false\n    // Who',
  replace: 'throw err\n    }\n    this.#isDirty = false\n    // Who'
}]
