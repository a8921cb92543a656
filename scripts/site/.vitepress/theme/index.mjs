// The default theme, with what this site needs otherwise.

import DefaultTheme from 'vitepress/theme'
import './style.css'

export default DefaultTheme
