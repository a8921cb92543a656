'use strict'
// Windows refuses to open, rename, replace or remove a file while another program, such as a virus scanner, has it open
// in its way. That usually passes, so such calls are tried again for a while.

const { performance } = require('node:perf_hooks')
const { pause, promisesOf, toCallback } = require('@millrace/flow')
const { withCalls } = require('./replaced-calls')

const PATIENCE_MS = 3000
const PAUSE_MS_MIN = 1
const PAUSE_MS_MAX = 100
const SHARING_VIOLATIONS = ['EPERM', 'EACCES', 'EBUSY']

/** @typedef {import('./storage').Storage} Storage */

/**
 * @template T
 * @param {() => Promise<T>} run
 * @param {{ codes?: string[], patienceMs?: number }} [options]  `codes`: of the errors that may pass
 * @returns {Promise<T>}
 * @throws what `run` throws, if it is something else, or comes for too long
 */
async function patiently (run, { codes = SHARING_VIOLATIONS, patienceMs = PATIENCE_MS } = {}) {
  const beganMs = performance.now()
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    try {
      return await run()
    } catch (/** @type {any} */ err) {
      if (!codes.includes(err.code) || performance.now() - beganMs >= patienceMs) throw err
    }
    await pause(pauseMs)
  }
}

/**
 * The same storage, which tries calls again that fail because somebody has the file open, as on Windows.
 * @template {Storage} T
 * @param {T} storage
 * @param {{ patienceMs?: number }} [options]  for how many ms; 3000 by default
 * @returns {T}  the same, or, if it has Windows' rules (`replacesOpenFiles: false`), one that tries again
 */
function patientStorage (storage, { patienceMs = PATIENCE_MS } = {}) {
  if (storage.replacesOpenFiles !== false) return storage
  // Files for which patience has ended once: they are held for longer, so nobody waits for them again.
  /** @type {Set<string>} */
  const held = new Set()
  const promises = promisesOf(/** @type {Storage} */ (storage))
  /** @type {(file: string, call: () => Promise<void>, cb: any) => void} */
  const change = (file, call, cb) => {
    const run = async () => {
      try {
        await patiently(call, { patienceMs: held.has(file) ? 0 : patienceMs })
        held.delete(file)
      } catch (/** @type {any} */ err) {
        if (isHeld(storage, err)) held.add(file)
        else held.delete(file)
        throw err
      }
    }
    toCallback(run(), cb)
  }
  // Whoever has no right to open a file gets one of the other codes, and need not wait.
  const opening = { codes: ['EBUSY'], patienceMs }
  return withCalls(storage, /** @type {Partial<T>} */ ({
    open: (path, options, cb) => toCallback(patiently(() => promises.open(path, options), opening), cb),
    rename: (from, to, cb) => change(to, () => promises.rename(from, to), cb),
    unlink: (path, cb) => change(path, () => promises.unlink(path), cb)
  }))
}

/**
 * Whether a name could not be changed because somebody has the file open: it can be changed later.
 * @type {(storage: Storage, err: unknown) => boolean}
 */
function isHeld (storage, err) {
  const { code = '' } = /** @type {NodeJS.ErrnoException} */ (err)
  return storage.replacesOpenFiles === false && SHARING_VIOLATIONS.includes(code)
}

exports.patiently = patiently
exports.patientStorage = patientStorage
exports.isHeld = isHeld
