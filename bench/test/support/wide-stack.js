'use strict'
// Millrace on another framing, as a stack of a later format will be.

const [, , ours] = require('../../tables/layers/stacks').parts

module.exports = { ...ours, name: 'wide', label: 'Millrace, 48 bits', order: 20, framing: 'offset48' }
