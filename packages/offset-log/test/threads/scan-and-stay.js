'use strict'
// Scans the log at the path given over two threads. If it is to stay open, the process ends all the same; if not, it
// does not end before the log is closed.

const { OffsetLog } = require('../..')

const log = OffsetLog(process.argv[2], { flags: 'r' })
log.scan({ threads: 2 }, require.resolve('./count-records'), (err, { results }) => {
  console.log(err ?? results.reduce((sum, { count }) => sum + count, 0))
  if (process.argv[3] === 'close') log.close(() => console.log('closed'))
})
