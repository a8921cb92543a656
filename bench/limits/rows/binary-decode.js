'use strict'
// From its bytes back to a value.

const { createCodecRow } = require('../lib/codec-row')

module.exports = createCodecRow({
  name: 'binary-decode',
  order: 19.92,
  what: 'binary.decode : JSON.parse of a Buffer',
  goal: 0.7
}, 'decode')
