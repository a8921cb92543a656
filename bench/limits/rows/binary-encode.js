'use strict'
// From a value to its bytes.

const { createCodecRow } = require('../lib/codec-row')

module.exports = createCodecRow({
  name: 'binary-encode',
  order: 19.91,
  what: 'binary.encode : JSON to a Buffer',
  goal: 0.5
}, 'encode')
