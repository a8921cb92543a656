'use strict'
// Scans the log at the path given over two threads, and leaves it open: the process ends all the same.

const { OffsetLog } = require('../..')

const log = OffsetLog(process.argv[2], { flags: 'r' })
log.scan({ threads: 2 }, require.resolve('./count-records'), (err, { results }) => {
  console.log(err ?? results.reduce((sum, { count }) => sum + count, 0))
})
