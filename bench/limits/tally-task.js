'use strict'
// The task of a scan over threads: a tally of each part.

const { Counts } = require('../lib/measure')

/** @type {import('@millrace/offset-log').CreateTask} */
module.exports = () => {
  const counts = new Counts()
  return { onRecords: (chunk) => counts.addRecords(chunk), end: () => ({ ...counts }) }
}
