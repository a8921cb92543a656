'use strict'
// What calls fail with, as types.

/**
 * @typedef {keyof typeof import('./codes').codes} ErrorCode
 * @typedef {keyof typeof import('node:os').constants.errno} SystemCode  what the file system fails with
 * @typedef {ErrorCode | SystemCode} FailureCode
 * @typedef {Error & { code?: FailureCode }} Failure  of a codec or a storage from elsewhere: perhaps no code
 */

/**
 * What users pass. As everywhere in Node.js, there is a result only when there is no error.
 * @template Result
 * @typedef {(err: Failure | null, result: Result) => void} NodeCallback
 */

module.exports = {}
