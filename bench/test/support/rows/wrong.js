'use strict'
// Delivers what its peer delivers, which is not what was there.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({ name: 'wrong', answers: [{ records: 6 }, { records: 6 }], expected: { records: 7 } })
