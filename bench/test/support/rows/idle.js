'use strict'
// Delivers less than its peer.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({ name: 'idle', answers: [{ records: 6 }, { records: 7 }] })
