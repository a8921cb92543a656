'use strict'
// The error of a scan whose task cannot do its work.

const { LogError } = require('@millrace/errors')

/**
 * @param {string} what  the task did
 * @param {string} path  of its module
 * @param {unknown} [cause]
 */
function taskFailed (what, path, cause) {
  const reason = cause === undefined ? '' : `: ${describe(cause)}`
  return new LogError('ERR_SCAN_TASK', `scan: the task ${path} ${what}${reason}`, { cause, path })
}

/** @param {unknown} cause  anything can be thrown, and some of that is no text */
function describe (cause) {
  try {
    return cause instanceof Error ? cause.message : String(cause)
  } catch {
    return typeof cause
  }
}

exports.taskFailed = taskFailed
