'use strict'
// Well within its goal.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow('fast', [1.5, 3])
