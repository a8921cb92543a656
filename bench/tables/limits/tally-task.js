'use strict'
// The task of a scan over threads: counts the records of each partition.

const { Counts } = require('../../lib/measure')

/** @type {import('@millrace/offset-log').CreateTask} */
module.exports = () => {
  const counts = new Counts()
  return { onRecords: (chunk) => counts.addRecords(chunk), end: () => ({ ...counts }) }
}
