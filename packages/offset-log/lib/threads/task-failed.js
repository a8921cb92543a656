'use strict'
// The error of a scan whose task cannot do its work.

const { LogError, reasonOf } = require('@millrace/errors')

/**
 * @param {string} what  the task did
 * @param {string} path  of its module
 * @param {unknown} [cause]
 */
function taskFailed (what, path, cause) {
  const reason = cause === undefined ? '' : `: ${reasonOf(cause)}`
  return new LogError('ERR_SCAN_TASK', `scan: the task ${path} ${what}${reason}`, { cause, path })
}

exports.taskFailed = taskFailed
