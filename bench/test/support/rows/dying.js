'use strict'
// Dies in its peer.

const { createFixedRow } = require('../fixed-row')

module.exports = createFixedRow({
  name: 'dying',
  peer () { throw new Error('the disk is made of cheese') }
})
