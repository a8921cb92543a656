'use strict'
// Well within its goal.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({ name: 'fast', values: [1.5, 3], answers: [{ records: 7 }, { records: 7, bytes: 9 }] })
