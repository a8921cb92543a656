'use strict'
// The words that generated messages are made of. Most are English; the rest bring characters of two, three and four
// bytes, since a log of pure ASCII flatters every codec.

/** @param {string} text */
const split = (text) => text.trim().split(/\s+/)

const english = split(`
a about above across after again all along already also always among an and another any apple around as ask at autumn
away back bakery barge barley basin be beam because bed been before began behind belt below bench beside best between
beyond bird boat bolt both bottom bread bridge bring brook brown build built but by came can canal carry cedar chain
change clay clear climb cloud cog coming cool copper corner could crane creek crop cut dam dark dawn day deep did do
door down draw dried drop dry dust each early earth east edge eel eight else end engine even evening ever every far farm
fast feed fence fern few field find fine first fish five flat flood floor flour flow follow for forest found four fresh
from front frost full garden gate gave gear gentle get give go gone good grain grass gravel great green grew grind ground
had half hammer hand harvest has have hay he heard heavy held help her here high hill him his hold hollow home hour house
how hum idea if in inside into iron is island it its join journey just keep kept kitchen know ladder lake lamp land large
last late leaf learn leave left less let level light like line listen little long look loose low lower lunch made make
many map market marsh may me meadow measure meet metal mid might mile mill miller millstone mind mist moon more morning
moss most mother move much mud must my narrow near need neighbour never new next night nine no north not note nothing now
oak oats of off often oil old on once one only open or orchard other our out over own paddle paint part past path people
perhaps pine place plan plant plate plough pond pool pour power press pull pump push quarry quick quiet race rain raise
reach read ready red reed rest right ripple rise river road roof room root rope round rowan run rye sack said same sand
saw say scale sea season second see seed seemed send set seven shade shaft shallow sharp she shed shift shore short
should show side sieve silence silt since six sky slack slope slow sluice small smell smoke snow so soft soil some soon
sound south spade spill spin spoke spring stable stair star start stay steady steam steel step still stone stood stop
store storm story straw stream strong such sudden summer sun sure swallow sweet table take tall tea ten than that thaw
the their them then there these they thick thin thing think this those though three through thunder tide till timber
time to today together told too tool top toward town trade tree trough trout true try tun turn twelve two under until up
upper upstream us use valley very village wade wagon wait walk wall want warm was wash watch water way we weather wedge
weir well went were west wet what wheat wheel when where which while white who whole why wide will willow wind window
winter with within without wood wool word work world would yard year yes yesterday yet you young your
`)

const others = [
  split(`água açude moinho não então pão maçã coração manhã amanhã também você avó irmão estação canção pássaro céu três
mês lâmpada árvore família último próximo fácil difícil às está será português`),
  split(`Mühle Müller Wasser Rad Getreide Mehl über für größer schön während Straße Fluss früh später Brücke Küche Tür
Gärten Äpfel Öl Übung weiß heiß süß müde natürlich`),
  split(`мельница вода колесо зерно мука река мост утро вечер сегодня завтра ветер камень дорога поле лес небо звезда
хлеб дом окно дверь рука слово время человек друг вопрос ответ снова`),
  split(`μύλος νερό τροχός σιτάρι αλεύρι ποτάμι γέφυρα πρωί βράδυ σήμερα αύριο άνεμος πέτρα δρόμος ουρανός ψωμί σπίτι
παράθυρο λέξη χρόνος φίλος`),
  split(`水車 小麦 粉 川 橋 朝 夕方 今日 明日 風 石 道 畑 森 空 星 パン 家 窓 言葉 時間 友達 質問 答え ありがとう こんにちは
しかし`),
  split('طاحونة ماء عجلة قمح دقيق نهر جسر صباح مساء اليوم غدا ريح حجر طريق حقل سماء خبز بيت نافذة كلمة وقت صديق'),
  split('चक्की पानी पहिया गेहूँ आटा नदी पुल सुबह शाम आज कल हवा पत्थर रास्ता खेत आकाश रोटी घर खिड़की शब्द समय मित्र')
]

const emoji = split('🌾 🍞 🌊 💧 🌱 🌻 🐟 🦆 🛶 ⚙️ 🔧 🏡 🌧️ ☀️ 🌙 ⭐ 👍 ❤️ 😀 😅 🎉 👩‍🌾 🇬🇷')

const channels = split(`mills water-wheels baking gardening bread-making rivers restoration woodwork new-people
millwright-tools solar-punk 水車 canals weather library`)

exports.english = english
exports.others = others
exports.emoji = emoji
exports.channels = channels
