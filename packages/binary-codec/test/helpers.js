'use strict'
// What several tests need to look at an error.

/**
 * @param {() => unknown} run
 * @returns {any}  what it threw; undefined when it returned
 */
function thrownBy (run) {
  try {
    run()
    return undefined
  } catch (err) {
    return err
  }
}

/**
 * @param {import('tape').Test} t
 * @param {() => unknown} run
 * @param {{ code: string, offset?: number, path?: Array<string | number>, message?: RegExp }} expected
 */
function throwsWith (t, run, { code, offset, path, message }) {
  const err = thrownBy(run)
  t.equal(err?.code, code, err?.message)
  if (offset !== undefined) t.equal(err?.offset, offset, `at byte ${offset}`)
  if (path !== undefined) t.deepEqual(err?.path, path, `at /${path.join('/')}`)
  if (message !== undefined) t.match(String(err?.message), message)
}

exports.thrownBy = thrownBy
exports.throwsWith = throwsWith
