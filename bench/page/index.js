'use strict'
// images/report.html: one file that opens from disk. Styles, scripts and figures are all in it, and its policy lets the
// browser ask for nothing else.

const { createHash } = require('node:crypto')
const fs = require('node:fs')
const path = require('node:path')
const { chooseLooks, drawSymbol } = require('../lib/charts')

const UPLOT = path.dirname(require.resolve('uplot/package.json'))
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/**
 * @param {import('./page').Report} report
 * @returns {Promise<string>}  HTML
 */
async function writePage (report) {
  const looks = chooseLooks(report.stacks.length)
  const marks = await Promise.all(looks.map(drawSymbol))
  const paint = (/** @type {'light' | 'dark'} */ mode) => looks.map((look, index) => `--stack-${index}: ${look[mode]};`).join(' ')
  const style = fill(read(__dirname, 'style.css'), { light: paint('light'), dark: paint('dark') })
  /** @type {import('./page').Page} */
  const page = { ...report, looks: looks.map(({ lineWidth }, index) => ({ lineWidth, mark: marks[index] })) }
  const assets = {
    uplotStyle: read(UPLOT, 'dist/uPlot.min.css'),
    style,
    uplot: read(UPLOT, 'dist/uPlot.iife.min.js'),
    script: read(__dirname, 'browser.mjs')
  }
  const hash = (/** @type {string} */ text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  return fill(read(__dirname, 'page.html'), {
    ...assets,
    policy: [
      "default-src 'none'",
      `style-src ${hash(assets.uplotStyle)} ${hash(style)}`,
      `script-src ${hash(assets.uplot)} ${hash(assets.script)}`,
      "base-uri 'none'", "form-action 'none'"
    ].join('; '),
    licence: escape(read(UPLOT, 'LICENSE').trim()),
    title: escape(report.title),
    // Nothing in it can end the element.
    data: JSON.stringify(page).replaceAll('<', '\\u003c')
  })
}

/** @param {string[]} parts  of a path */
function read (...parts) {
  return fs.readFileSync(path.join(...parts), 'utf8')
}

/**
 * @param {string} template  with names in double braces
 * @param {Record<string, string>} values
 */
function fill (template, values) {
  return template.replace(/\{\{(\w+)\}\}/g, (_, name) => values[name])
}

/** @param {string} text */
function escape (text) {
  return text.replace(/[&<>"]/g, (char) => ENTITIES[/** @type {keyof typeof ENTITIES} */ (char)])
}

exports.writePage = writePage
