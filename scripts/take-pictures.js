'use strict'
// The pictures of pages in the READMEs, taken in a real browser. Usage: node scripts/take-pictures.js

const path = require('node:path')
const { withBrowser } = require('../test/browser')

const images = path.join(__dirname, '..', 'images')
const PICTURES = [
  { name: 'report', view: { width: 1440, height: 900 } },
  { name: 'report-dark', view: { width: 1440, height: 900, isDark: true } },
  { name: 'report-360', view: { width: 360, height: 900, zoom: 2 } }
]

withBrowser(async (open) => {
  for (const { name, view } of PICTURES) {
    const { page } = await open({ path: path.join(images, 'report.html'), ...view })
    await page.screenshot({ path: path.join(images, `${name}.png`) })
  }
})
