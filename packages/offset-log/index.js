'use strict'
// An append-only log of records framed at byte offsets.

const { OffsetLog } = require('./lib/offset-log')

exports.OffsetLog = OffsetLog
