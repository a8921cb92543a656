'use strict'
// Planted: the copy of an end stays when it was written anew, and its slot is not compared.

exports.why = 'the next open cuts what was appended since, and puts the copy there'
exports.oracle = 'calls'
exports.patches = [{
  file: 'packages/offset-log/lib/recover/tail-copy.js',
  find: '    await promisesOf(this.#blocks).removeBeside(TAIL_SUFFIX)\n',
  replace: ''
}, {
  file: 'packages/offset-log/lib/recover/tail-copy.js',
  find: 'this.#sequence > sequence',
  replace: 'false'
}]
