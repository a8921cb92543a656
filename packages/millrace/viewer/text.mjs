// Puts what records hold on the page: as text, never as HTML. Characters that would hide or reorder it become visible.

// C0 but tab and line feed, DEL, C1, marks and isolates of the bidirectional algorithm, line separators, tags, BOM.
// eslint-disable-next-line no-control-regex -- these are the ones to be found
const CONTROL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u
const PARTS = new RegExp(`(${CONTROL.source})`, 'u')

/** @returns {HTMLElement}  the element, with the text in it */
export function putText (element, text) {
  const parts = String(text).split(PARTS)
  element.replaceChildren(...parts.map((part, index) => index % 2 === 0 ? part : create('span', 'control', escape(part))))
  return element
}

/** @returns {HTMLElement} */
export function create (tag, className = '', text = '') {
  const element = document.createElement(tag)
  if (className) element.className = className
  if (text) element.textContent = text
  return element
}

function escape (character) {
  return `\\u{${character.codePointAt(0).toString(16)}}`
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB']

// As the command prints it.
export function formatSize (size) {
  let unit = 0
  for (; Math.round(size) >= 1000 && unit < UNITS.length - 1; unit++) size /= 1000
  return `${unit === 0 || size >= 99.95 ? Math.round(size) : Math.max(1, size).toPrecision(3)} ${UNITS[unit]}`
}

export function formatCount (count) {
  return count.toLocaleString('en')
}

export function formatTime (ms) {
  return ms === null ? '' : new Date(ms).toISOString().replace('T', ' ').replace(/(\.000)?Z$/, '')
}
