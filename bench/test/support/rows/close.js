'use strict'
// Misses its goal, but by less than 10%.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow('close', [105, 100])
