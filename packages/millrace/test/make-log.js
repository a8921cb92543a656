'use strict'
// A log for a test, closed again.

const { newPath } = require('@millrace/testkit')
const { open } = require('..')

/**
 * @param {any[]} values
 * @param {object} [options]  of `open`
 * @returns {Promise<string>}  its file
 */
async function makeLog (values, options) {
  const file = newPath('events.log')
  const log = open(file, options)
  await log.append(values)
  await log.close()
  return file
}

exports.makeLog = makeLog
