'use strict'
// Takes a text file as it is, after another program has changed it.

const { resolvePath } = require('@millrace/block-file')
const { LogError } = require('@millrace/errors')
const { abortError, callbackOrPromise, toCallback } = require('@millrace/flow')
const { acceptLines } = require('@millrace/offset-log/copies')
const { checkPath, parseOptions } = require('./options')
const { withSource } = require('./source')

/** @template T @typedef {import('@millrace/errors').NodeCallback<T>} NodeCallback */

/** @typedef {import('./options').SalvageOptions} SalvageOptions */

/** @typedef {Pick<SalvageOptions, 'onProgress' | 'signal' | 'storage' | 'framing'>} AcceptOptions */

/**
 * @typedef {object} Acceptance
 * @property {string} path  Of the log.
 * @property {number} size  Of its lines, in bytes.
 * @property {string | null} changed  What another program had done; null if nothing was noticed.
 * @property {string | null} keptAt  The file that has the torn last line, which was cut off; null if there was none.
 */

/**
 * Takes the text of a log of lines as right, after another program has changed it: computes the checksums in
 * `<path>.sums` anew. The text is not changed, but for a torn last line. It fails with ERR_LOG_LOCKED if a writer has
 * the log open, and with ERR_NOT_SUPPORTED if the log is none of lines.
 * @overload
 * @param {string | URL} path
 * @param {AcceptOptions} [options]
 * @returns {Promise<Acceptance>}
 */
/**
 * @overload
 * @param {string | URL} path
 * @param {NodeCallback<Acceptance>} cb
 * @returns {void}
 */
/**
 * @overload
 * @param {string | URL} path
 * @param {AcceptOptions | undefined} options
 * @param {NodeCallback<Acceptance>} cb
 * @returns {void}
 */
/**
 * Takes the text of a log of lines as right.
 * @param {string | URL} path
 * @param {AcceptOptions | NodeCallback<Acceptance>} [options]
 * @param {NodeCallback<Acceptance>} [cb]
 * @returns {any}  a promise if there is no callback
 */
function accept (path, options = {}, cb) {
  if (typeof options === 'function') return accept(path, {}, options)
  return callbackOrPromise(cb, (cb) => toCallback(acceptLog(path, options), cb), 'accept')
}

/** @type {(path: string | URL, options: AcceptOptions) => Promise<Acceptance>} */
async function acceptLog (path, options) {
  checkPath('accept', 'the path of a log', path)
  const parsed = parseOptions('accept', options)
  const { storage, signal, onProgress } = parsed
  const file = resolvePath(path, storage)
  await withSource(path, parsed, async ({ areLines, blocks }) => {
    if (areLines || blocks.size.value === 0) return
    throw new LogError('ERR_NOT_SUPPORTED', `accept: ${file} is no log of lines, so a change of another program is damage. ` +
      'repair makes a new log of its good records', { path: file })
  })
  const { size, changed, keptAt } = await acceptLines(file, {
    storage,
    onProgress: (progress) => {
      if (signal?.aborted) throw abortError('accept', signal)
      onProgress(progress)
    }
  })
  return { path: file, size, changed, keptAt }
}

exports.accept = accept
