'use strict'

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({ name: 'no-room', prepare: () => ({ absent: '9 PB of room on the disk' }) })
