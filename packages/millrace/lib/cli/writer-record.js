'use strict'
// Who writes a log, as the record beside its file says.

const fs = require('node:fs')
const os = require('node:os')

/** @typedef {{ host: string, pid: number, since: string, isAlive: boolean | null }} Writer */

/**
 * Who has the log open for writing, as the record beside it says. The record outlives a process that was killed.
 * @param {string} path
 * @returns {Writer | null}
 */
function readWriter (path) {
  let record
  try {
    record = JSON.parse(fs.readFileSync(`${path}.lock`, 'utf8'))
  } catch {
    return null
  }
  const { host, pid, since } = record
  const isHere = host === os.hostname()
  return { host: String(host), pid: Number(pid), since: String(since), isAlive: isHere ? isAlive(pid) : null }
}

/** @param {number} pid */
function isAlive (pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (/** @type {any} */ err) {
    return err.code === 'EPERM'
  }
}

/** @param {Writer} writer */
function describeWriter ({ host, pid, since, isAlive }) {
  const who = `process ${pid} on ${host}, since ${since}`
  return isAlive === false ? `none; ${who} did not close the log` : who
}

exports.describeWriter = describeWriter
exports.readWriter = readWriter
