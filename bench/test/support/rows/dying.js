'use strict'
// Dies in its peer.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({
  name: 'dying',
  order: 70,
  peer: { open () { throw new Error('the disk is made of cheese') } }
})
