'use strict'
// Runs one test file as the program: node test/run-file.js <file>. tape compares with the package deep-equal, which
// takes a hundred times as long as Node.js does: a third of the time of some files. So Node.js compares first, and
// deep-equal is asked, and loaded, only where Node.js finds a difference.

const Module = require('node:module')
const path = require('node:path')
const { isDeepStrictEqual } = require('node:util')
const { answerWhenAsked } = require('./silence')

const requireOfTape = Module.createRequire(require.resolve('tape'))
const deepEqualPath = requireOfTape.resolve('deep-equal')
/** @type {typeof isDeepEqual | null} */
let deepEqual = null

/** @type {(actual: unknown, expected: unknown, options?: { strict: boolean }) => boolean} */
function isDeepEqual (actual, expected, options) {
  if (isDeepStrictEqual(actual, expected)) return true
  if (!deepEqual) {
    delete require.cache[deepEqualPath]
    deepEqual = /** @type {typeof isDeepEqual} */ (requireOfTape('deep-equal'))
  }
  return deepEqual(actual, expected, options)
}

const replacement = new Module(deepEqualPath)
replacement.exports = isDeepEqual
replacement.loaded = true
require.cache[deepEqualPath] = replacement
answerWhenAsked()
process.argv.splice(1, 2, path.resolve(process.argv[2]))
Module.runMain()
