// SPDX-License-Identifier: Apache-2.0
// Switches over numbers near and far, over strings and enumerations, and a method that is too big to be
// compiled (more than 8,000 bytes of bytecode).
//
// chain: main@main > turn@turn
// chain: main@main turn@turn > near@near > SPIN
// chain: main@main turn@turn > far@far > SPIN
// chain: main@main turn@turn > text@text > (LIBRARY|SPIN)
// chain: main@main turn@turn > kind@kind > (LIBRARY|SPIN)
// chain: main@main turn@turn > big@big

public class Switches {
	enum Kind { FIRST, SECOND, THIRD }

	static int near(int n) {
		switch (n % 5) { //: near
		case 0: return Target.spin(10); //: near
		case 1: return Target.spin(20); //: near
		case 2: return Target.spin(30); //: near
		case 3: return n; //: near
		default: return Target.spin(40); //: near
		}
	}

	static int far(int n) {
		switch (n % 3 * 100000) { //: far
		case 0: return Target.spin(10); //: far
		case 100000: return Target.spin(20); //: far
		default: return Target.spin(30); //: far
		}
	}

	static int text(String text) {
		switch (text) { //: text
		case "one": return Target.spin(10); //: text
		case "two": return Target.spin(20); //: text
		default: return Target.spin(30); //: text
		}
	}

	static int kind(Kind kind) {
		switch (kind) { //: kind
		case FIRST: return Target.spin(10); //: kind
		case SECOND: return Target.spin(20); //: kind
		default: return Target.spin(30); //: kind
		}
	}

	static int big(int n) {
		int total = n; //: big
		total = (total ^ 7919) * 3 + (total >>> 2) - n % 4; //: big
		total = (total ^ 15838) * 5 + (total >>> 3) - n % 5; //: big
		total = (total ^ 23757) * 7 + (total >>> 4) - n % 6; //: big
		total = (total ^ 31676) * 9 + (total >>> 5) - n % 7; //: big
		total = (total ^ 39595) * 11 + (total >>> 6) - n % 8; //: big
		total = (total ^ 47514) * 13 + (total >>> 7) - n % 9; //: big
		total = (total ^ 55433) * 15 + (total >>> 8) - n % 10; //: big
		total = (total ^ 63352) * 17 + (total >>> 9) - n % 11; //: big
		total = (total ^ 71271) * 19 + (total >>> 10) - n % 12; //: big
		total = (total ^ 79190) * 21 + (total >>> 11) - n % 13; //: big
		total = (total ^ 87109) * 23 + (total >>> 12) - n % 14; //: big
		total = (total ^ 95028) * 25 + (total >>> 13) - n % 15; //: big
		total = (total ^ 102947) * 27 + (total >>> 1) - n % 16; //: big
		total = (total ^ 110866) * 29 + (total >>> 2) - n % 17; //: big
		total = (total ^ 118785) * 31 + (total >>> 3) - n % 18; //: big
		total = (total ^ 126704) * 33 + (total >>> 4) - n % 19; //: big
		total = (total ^ 134623) * 35 + (total >>> 5) - n % 20; //: big
		total = (total ^ 142542) * 37 + (total >>> 6) - n % 21; //: big
		total = (total ^ 150461) * 39 + (total >>> 7) - n % 22; //: big
		total = (total ^ 158380) * 41 + (total >>> 8) - n % 23; //: big
		total = (total ^ 166299) * 43 + (total >>> 9) - n % 24; //: big
		total = (total ^ 174218) * 45 + (total >>> 10) - n % 25; //: big
		total = (total ^ 182137) * 47 + (total >>> 11) - n % 26; //: big
		total = (total ^ 190056) * 49 + (total >>> 12) - n % 27; //: big
		total = (total ^ 197975) * 51 + (total >>> 13) - n % 28; //: big
		total = (total ^ 205894) * 53 + (total >>> 1) - n % 29; //: big
		total = (total ^ 213813) * 55 + (total >>> 2) - n % 30; //: big
		total = (total ^ 221732) * 57 + (total >>> 3) - n % 31; //: big
		total = (total ^ 229651) * 59 + (total >>> 4) - n % 32; //: big
		total = (total ^ 237570) * 61 + (total >>> 5) - n % 33; //: big
		total = (total ^ 245489) * 63 + (total >>> 6) - n % 34; //: big
		total = (total ^ 253408) * 65 + (total >>> 7) - n % 35; //: big
		total = (total ^ 261327) * 67 + (total >>> 8) - n % 36; //: big
		total = (total ^ 269246) * 69 + (total >>> 9) - n % 37; //: big
		total = (total ^ 277165) * 71 + (total >>> 10) - n % 38; //: big
		total = (total ^ 285084) * 73 + (total >>> 11) - n % 39; //: big
		total = (total ^ 293003) * 75 + (total >>> 12) - n % 40; //: big
		total = (total ^ 300922) * 77 + (total >>> 13) - n % 41; //: big
		total = (total ^ 308841) * 79 + (total >>> 1) - n % 42; //: big
		total = (total ^ 316760) * 81 + (total >>> 2) - n % 43; //: big
		total = (total ^ 324679) * 83 + (total >>> 3) - n % 44; //: big
		total = (total ^ 332598) * 85 + (total >>> 4) - n % 45; //: big
		total = (total ^ 340517) * 87 + (total >>> 5) - n % 46; //: big
		total = (total ^ 348436) * 89 + (total >>> 6) - n % 47; //: big
		total = (total ^ 356355) * 91 + (total >>> 7) - n % 48; //: big
		total = (total ^ 364274) * 93 + (total >>> 8) - n % 49; //: big
		total = (total ^ 372193) * 95 + (total >>> 9) - n % 50; //: big
		total = (total ^ 380112) * 97 + (total >>> 10) - n % 51; //: big
		total = (total ^ 388031) * 99 + (total >>> 11) - n % 52; //: big
		total = (total ^ 395950) * 101 + (total >>> 12) - n % 53; //: big
		total = (total ^ 403869) * 103 + (total >>> 13) - n % 54; //: big
		total = (total ^ 411788) * 105 + (total >>> 1) - n % 55; //: big
		total = (total ^ 419707) * 107 + (total >>> 2) - n % 56; //: big
		total = (total ^ 427626) * 109 + (total >>> 3) - n % 57; //: big
		total = (total ^ 435545) * 111 + (total >>> 4) - n % 58; //: big
		total = (total ^ 443464) * 113 + (total >>> 5) - n % 59; //: big
		total = (total ^ 451383) * 115 + (total >>> 6) - n % 60; //: big
		total = (total ^ 459302) * 117 + (total >>> 7) - n % 61; //: big
		total = (total ^ 467221) * 119 + (total >>> 8) - n % 62; //: big
		total = (total ^ 475140) * 121 + (total >>> 9) - n % 63; //: big
		total = (total ^ 483059) * 123 + (total >>> 10) - n % 64; //: big
		total = (total ^ 490978) * 125 + (total >>> 11) - n % 65; //: big
		total = (total ^ 498897) * 127 + (total >>> 12) - n % 66; //: big
		total = (total ^ 506816) * 129 + (total >>> 13) - n % 67; //: big
		total = (total ^ 514735) * 131 + (total >>> 1) - n % 68; //: big
		total = (total ^ 522654) * 133 + (total >>> 2) - n % 69; //: big
		total = (total ^ 530573) * 135 + (total >>> 3) - n % 70; //: big
		total = (total ^ 538492) * 137 + (total >>> 4) - n % 71; //: big
		total = (total ^ 546411) * 139 + (total >>> 5) - n % 72; //: big
		total = (total ^ 554330) * 141 + (total >>> 6) - n % 73; //: big
		total = (total ^ 562249) * 143 + (total >>> 7) - n % 74; //: big
		total = (total ^ 570168) * 145 + (total >>> 8) - n % 75; //: big
		total = (total ^ 578087) * 147 + (total >>> 9) - n % 76; //: big
		total = (total ^ 586006) * 149 + (total >>> 10) - n % 77; //: big
		total = (total ^ 593925) * 151 + (total >>> 11) - n % 78; //: big
		total = (total ^ 601844) * 153 + (total >>> 12) - n % 79; //: big
		total = (total ^ 609763) * 155 + (total >>> 13) - n % 80; //: big
		total = (total ^ 617682) * 157 + (total >>> 1) - n % 81; //: big
		total = (total ^ 625601) * 159 + (total >>> 2) - n % 82; //: big
		total = (total ^ 633520) * 161 + (total >>> 3) - n % 83; //: big
		total = (total ^ 641439) * 163 + (total >>> 4) - n % 84; //: big
		total = (total ^ 649358) * 165 + (total >>> 5) - n % 85; //: big
		total = (total ^ 657277) * 167 + (total >>> 6) - n % 86; //: big
		total = (total ^ 665196) * 169 + (total >>> 7) - n % 87; //: big
		total = (total ^ 673115) * 171 + (total >>> 8) - n % 88; //: big
		total = (total ^ 681034) * 173 + (total >>> 9) - n % 89; //: big
		total = (total ^ 688953) * 175 + (total >>> 10) - n % 90; //: big
		total = (total ^ 696872) * 177 + (total >>> 11) - n % 91; //: big
		total = (total ^ 704791) * 179 + (total >>> 12) - n % 92; //: big
		total = (total ^ 712710) * 181 + (total >>> 13) - n % 93; //: big
		total = (total ^ 720629) * 183 + (total >>> 1) - n % 94; //: big
		total = (total ^ 728548) * 185 + (total >>> 2) - n % 95; //: big
		total = (total ^ 736467) * 187 + (total >>> 3) - n % 96; //: big
		total = (total ^ 744386) * 189 + (total >>> 4) - n % 97; //: big
		total = (total ^ 752305) * 191 + (total >>> 5) - n % 98; //: big
		total = (total ^ 760224) * 193 + (total >>> 6) - n % 99; //: big
		total = (total ^ 768143) * 195 + (total >>> 7) - n % 100; //: big
		total = (total ^ 776062) * 197 + (total >>> 8) - n % 101; //: big
		total = (total ^ 783981) * 199 + (total >>> 9) - n % 102; //: big
		total = (total ^ 791900) * 201 + (total >>> 10) - n % 103; //: big
		total = (total ^ 799819) * 203 + (total >>> 11) - n % 104; //: big
		total = (total ^ 807738) * 205 + (total >>> 12) - n % 105; //: big
		total = (total ^ 815657) * 207 + (total >>> 13) - n % 106; //: big
		total = (total ^ 823576) * 209 + (total >>> 1) - n % 107; //: big
		total = (total ^ 831495) * 211 + (total >>> 2) - n % 108; //: big
		total = (total ^ 839414) * 213 + (total >>> 3) - n % 109; //: big
		total = (total ^ 847333) * 215 + (total >>> 4) - n % 110; //: big
		total = (total ^ 855252) * 217 + (total >>> 5) - n % 111; //: big
		total = (total ^ 863171) * 219 + (total >>> 6) - n % 112; //: big
		total = (total ^ 871090) * 221 + (total >>> 7) - n % 113; //: big
		total = (total ^ 879009) * 223 + (total >>> 8) - n % 114; //: big
		total = (total ^ 886928) * 225 + (total >>> 9) - n % 115; //: big
		total = (total ^ 894847) * 227 + (total >>> 10) - n % 116; //: big
		total = (total ^ 902766) * 229 + (total >>> 11) - n % 117; //: big
		total = (total ^ 910685) * 231 + (total >>> 12) - n % 118; //: big
		total = (total ^ 918604) * 233 + (total >>> 13) - n % 119; //: big
		total = (total ^ 926523) * 235 + (total >>> 1) - n % 120; //: big
		total = (total ^ 934442) * 237 + (total >>> 2) - n % 121; //: big
		total = (total ^ 942361) * 239 + (total >>> 3) - n % 122; //: big
		total = (total ^ 950280) * 241 + (total >>> 4) - n % 123; //: big
		total = (total ^ 958199) * 243 + (total >>> 5) - n % 124; //: big
		total = (total ^ 966118) * 245 + (total >>> 6) - n % 125; //: big
		total = (total ^ 974037) * 247 + (total >>> 7) - n % 126; //: big
		total = (total ^ 981956) * 249 + (total >>> 8) - n % 127; //: big
		total = (total ^ 989875) * 251 + (total >>> 9) - n % 128; //: big
		total = (total ^ 997794) * 253 + (total >>> 10) - n % 129; //: big
		total = (total ^ 1005713) * 255 + (total >>> 11) - n % 130; //: big
		total = (total ^ 1013632) * 257 + (total >>> 12) - n % 131; //: big
		total = (total ^ 1021551) * 259 + (total >>> 13) - n % 132; //: big
		total = (total ^ 1029470) * 261 + (total >>> 1) - n % 133; //: big
		total = (total ^ 1037389) * 263 + (total >>> 2) - n % 134; //: big
		total = (total ^ 1045308) * 265 + (total >>> 3) - n % 135; //: big
		total = (total ^ 1053227) * 267 + (total >>> 4) - n % 136; //: big
		total = (total ^ 1061146) * 269 + (total >>> 5) - n % 137; //: big
		total = (total ^ 1069065) * 271 + (total >>> 6) - n % 138; //: big
		total = (total ^ 1076984) * 273 + (total >>> 7) - n % 139; //: big
		total = (total ^ 1084903) * 275 + (total >>> 8) - n % 140; //: big
		total = (total ^ 1092822) * 277 + (total >>> 9) - n % 141; //: big
		total = (total ^ 1100741) * 279 + (total >>> 10) - n % 142; //: big
		total = (total ^ 1108660) * 281 + (total >>> 11) - n % 143; //: big
		total = (total ^ 1116579) * 283 + (total >>> 12) - n % 144; //: big
		total = (total ^ 1124498) * 285 + (total >>> 13) - n % 145; //: big
		total = (total ^ 1132417) * 287 + (total >>> 1) - n % 146; //: big
		total = (total ^ 1140336) * 289 + (total >>> 2) - n % 147; //: big
		total = (total ^ 1148255) * 291 + (total >>> 3) - n % 148; //: big
		total = (total ^ 1156174) * 293 + (total >>> 4) - n % 149; //: big
		total = (total ^ 1164093) * 295 + (total >>> 5) - n % 150; //: big
		total = (total ^ 1172012) * 297 + (total >>> 6) - n % 151; //: big
		total = (total ^ 1179931) * 299 + (total >>> 7) - n % 152; //: big
		total = (total ^ 1187850) * 301 + (total >>> 8) - n % 153; //: big
		total = (total ^ 1195769) * 303 + (total >>> 9) - n % 154; //: big
		total = (total ^ 1203688) * 305 + (total >>> 10) - n % 155; //: big
		total = (total ^ 1211607) * 307 + (total >>> 11) - n % 156; //: big
		total = (total ^ 1219526) * 309 + (total >>> 12) - n % 157; //: big
		total = (total ^ 1227445) * 311 + (total >>> 13) - n % 158; //: big
		total = (total ^ 1235364) * 313 + (total >>> 1) - n % 159; //: big
		total = (total ^ 1243283) * 315 + (total >>> 2) - n % 160; //: big
		total = (total ^ 1251202) * 317 + (total >>> 3) - n % 161; //: big
		total = (total ^ 1259121) * 319 + (total >>> 4) - n % 162; //: big
		total = (total ^ 1267040) * 321 + (total >>> 5) - n % 163; //: big
		total = (total ^ 1274959) * 323 + (total >>> 6) - n % 164; //: big
		total = (total ^ 1282878) * 325 + (total >>> 7) - n % 165; //: big
		total = (total ^ 1290797) * 327 + (total >>> 8) - n % 166; //: big
		total = (total ^ 1298716) * 329 + (total >>> 9) - n % 167; //: big
		total = (total ^ 1306635) * 331 + (total >>> 10) - n % 168; //: big
		total = (total ^ 1314554) * 333 + (total >>> 11) - n % 169; //: big
		total = (total ^ 1322473) * 335 + (total >>> 12) - n % 170; //: big
		total = (total ^ 1330392) * 337 + (total >>> 13) - n % 171; //: big
		total = (total ^ 1338311) * 339 + (total >>> 1) - n % 172; //: big
		total = (total ^ 1346230) * 341 + (total >>> 2) - n % 173; //: big
		total = (total ^ 1354149) * 343 + (total >>> 3) - n % 174; //: big
		total = (total ^ 1362068) * 345 + (total >>> 4) - n % 175; //: big
		total = (total ^ 1369987) * 347 + (total >>> 5) - n % 176; //: big
		total = (total ^ 1377906) * 349 + (total >>> 6) - n % 177; //: big
		total = (total ^ 1385825) * 351 + (total >>> 7) - n % 178; //: big
		total = (total ^ 1393744) * 353 + (total >>> 8) - n % 179; //: big
		total = (total ^ 1401663) * 355 + (total >>> 9) - n % 180; //: big
		total = (total ^ 1409582) * 357 + (total >>> 10) - n % 181; //: big
		total = (total ^ 1417501) * 359 + (total >>> 11) - n % 182; //: big
		total = (total ^ 1425420) * 361 + (total >>> 12) - n % 183; //: big
		total = (total ^ 1433339) * 363 + (total >>> 13) - n % 184; //: big
		total = (total ^ 1441258) * 365 + (total >>> 1) - n % 185; //: big
		total = (total ^ 1449177) * 367 + (total >>> 2) - n % 186; //: big
		total = (total ^ 1457096) * 369 + (total >>> 3) - n % 187; //: big
		total = (total ^ 1465015) * 371 + (total >>> 4) - n % 188; //: big
		total = (total ^ 1472934) * 373 + (total >>> 5) - n % 189; //: big
		total = (total ^ 1480853) * 375 + (total >>> 6) - n % 190; //: big
		total = (total ^ 1488772) * 377 + (total >>> 7) - n % 191; //: big
		total = (total ^ 1496691) * 379 + (total >>> 8) - n % 192; //: big
		total = (total ^ 1504610) * 381 + (total >>> 9) - n % 193; //: big
		total = (total ^ 1512529) * 383 + (total >>> 10) - n % 194; //: big
		total = (total ^ 1520448) * 385 + (total >>> 11) - n % 195; //: big
		total = (total ^ 1528367) * 387 + (total >>> 12) - n % 196; //: big
		total = (total ^ 1536286) * 389 + (total >>> 13) - n % 197; //: big
		total = (total ^ 1544205) * 391 + (total >>> 1) - n % 198; //: big
		total = (total ^ 1552124) * 393 + (total >>> 2) - n % 199; //: big
		total = (total ^ 1560043) * 395 + (total >>> 3) - n % 200; //: big
		total = (total ^ 1567962) * 397 + (total >>> 4) - n % 201; //: big
		total = (total ^ 1575881) * 399 + (total >>> 5) - n % 202; //: big
		total = (total ^ 1583800) * 401 + (total >>> 6) - n % 203; //: big
		total = (total ^ 1591719) * 403 + (total >>> 7) - n % 204; //: big
		total = (total ^ 1599638) * 405 + (total >>> 8) - n % 205; //: big
		total = (total ^ 1607557) * 407 + (total >>> 9) - n % 206; //: big
		total = (total ^ 1615476) * 409 + (total >>> 10) - n % 207; //: big
		total = (total ^ 1623395) * 411 + (total >>> 11) - n % 208; //: big
		total = (total ^ 1631314) * 413 + (total >>> 12) - n % 209; //: big
		total = (total ^ 1639233) * 415 + (total >>> 13) - n % 210; //: big
		total = (total ^ 1647152) * 417 + (total >>> 1) - n % 211; //: big
		total = (total ^ 1655071) * 419 + (total >>> 2) - n % 212; //: big
		total = (total ^ 1662990) * 421 + (total >>> 3) - n % 213; //: big
		total = (total ^ 1670909) * 423 + (total >>> 4) - n % 214; //: big
		total = (total ^ 1678828) * 425 + (total >>> 5) - n % 215; //: big
		total = (total ^ 1686747) * 427 + (total >>> 6) - n % 216; //: big
		total = (total ^ 1694666) * 429 + (total >>> 7) - n % 217; //: big
		total = (total ^ 1702585) * 431 + (total >>> 8) - n % 218; //: big
		total = (total ^ 1710504) * 433 + (total >>> 9) - n % 219; //: big
		total = (total ^ 1718423) * 435 + (total >>> 10) - n % 220; //: big
		total = (total ^ 1726342) * 437 + (total >>> 11) - n % 221; //: big
		total = (total ^ 1734261) * 439 + (total >>> 12) - n % 222; //: big
		total = (total ^ 1742180) * 441 + (total >>> 13) - n % 223; //: big
		total = (total ^ 1750099) * 443 + (total >>> 1) - n % 224; //: big
		total = (total ^ 1758018) * 445 + (total >>> 2) - n % 225; //: big
		total = (total ^ 1765937) * 447 + (total >>> 3) - n % 226; //: big
		total = (total ^ 1773856) * 449 + (total >>> 4) - n % 227; //: big
		total = (total ^ 1781775) * 451 + (total >>> 5) - n % 228; //: big
		total = (total ^ 1789694) * 453 + (total >>> 6) - n % 229; //: big
		total = (total ^ 1797613) * 455 + (total >>> 7) - n % 230; //: big
		total = (total ^ 1805532) * 457 + (total >>> 8) - n % 231; //: big
		total = (total ^ 1813451) * 459 + (total >>> 9) - n % 232; //: big
		total = (total ^ 1821370) * 461 + (total >>> 10) - n % 233; //: big
		total = (total ^ 1829289) * 463 + (total >>> 11) - n % 234; //: big
		total = (total ^ 1837208) * 465 + (total >>> 12) - n % 235; //: big
		total = (total ^ 1845127) * 467 + (total >>> 13) - n % 236; //: big
		total = (total ^ 1853046) * 469 + (total >>> 1) - n % 237; //: big
		total = (total ^ 1860965) * 471 + (total >>> 2) - n % 238; //: big
		total = (total ^ 1868884) * 473 + (total >>> 3) - n % 239; //: big
		total = (total ^ 1876803) * 475 + (total >>> 4) - n % 240; //: big
		total = (total ^ 1884722) * 477 + (total >>> 5) - n % 241; //: big
		total = (total ^ 1892641) * 479 + (total >>> 6) - n % 242; //: big
		total = (total ^ 1900560) * 481 + (total >>> 7) - n % 243; //: big
		total = (total ^ 1908479) * 483 + (total >>> 8) - n % 244; //: big
		total = (total ^ 1916398) * 485 + (total >>> 9) - n % 245; //: big
		total = (total ^ 1924317) * 487 + (total >>> 10) - n % 246; //: big
		total = (total ^ 1932236) * 489 + (total >>> 11) - n % 247; //: big
		total = (total ^ 1940155) * 491 + (total >>> 12) - n % 248; //: big
		total = (total ^ 1948074) * 493 + (total >>> 13) - n % 249; //: big
		total = (total ^ 1955993) * 495 + (total >>> 1) - n % 250; //: big
		total = (total ^ 1963912) * 497 + (total >>> 2) - n % 251; //: big
		total = (total ^ 1971831) * 499 + (total >>> 3) - n % 252; //: big
		total = (total ^ 1979750) * 501 + (total >>> 4) - n % 253; //: big
		total = (total ^ 1987669) * 503 + (total >>> 5) - n % 254; //: big
		total = (total ^ 1995588) * 505 + (total >>> 6) - n % 255; //: big
		total = (total ^ 2003507) * 507 + (total >>> 7) - n % 256; //: big
		total = (total ^ 2011426) * 509 + (total >>> 8) - n % 257; //: big
		total = (total ^ 2019345) * 511 + (total >>> 9) - n % 258; //: big
		total = (total ^ 2027264) * 513 + (total >>> 10) - n % 259; //: big
		total = (total ^ 2035183) * 515 + (total >>> 11) - n % 260; //: big
		total = (total ^ 2043102) * 517 + (total >>> 12) - n % 261; //: big
		total = (total ^ 2051021) * 519 + (total >>> 13) - n % 262; //: big
		total = (total ^ 2058940) * 521 + (total >>> 1) - n % 263; //: big
		total = (total ^ 2066859) * 523 + (total >>> 2) - n % 264; //: big
		total = (total ^ 2074778) * 525 + (total >>> 3) - n % 265; //: big
		total = (total ^ 2082697) * 527 + (total >>> 4) - n % 266; //: big
		total = (total ^ 2090616) * 529 + (total >>> 5) - n % 267; //: big
		total = (total ^ 2098535) * 531 + (total >>> 6) - n % 268; //: big
		total = (total ^ 2106454) * 533 + (total >>> 7) - n % 269; //: big
		total = (total ^ 2114373) * 535 + (total >>> 8) - n % 270; //: big
		total = (total ^ 2122292) * 537 + (total >>> 9) - n % 271; //: big
		total = (total ^ 2130211) * 539 + (total >>> 10) - n % 272; //: big
		total = (total ^ 2138130) * 541 + (total >>> 11) - n % 273; //: big
		total = (total ^ 2146049) * 543 + (total >>> 12) - n % 274; //: big
		total = (total ^ 2153968) * 545 + (total >>> 13) - n % 275; //: big
		total = (total ^ 2161887) * 547 + (total >>> 1) - n % 276; //: big
		total = (total ^ 2169806) * 549 + (total >>> 2) - n % 277; //: big
		total = (total ^ 2177725) * 551 + (total >>> 3) - n % 278; //: big
		total = (total ^ 2185644) * 553 + (total >>> 4) - n % 279; //: big
		total = (total ^ 2193563) * 555 + (total >>> 5) - n % 280; //: big
		total = (total ^ 2201482) * 557 + (total >>> 6) - n % 281; //: big
		total = (total ^ 2209401) * 559 + (total >>> 7) - n % 282; //: big
		total = (total ^ 2217320) * 561 + (total >>> 8) - n % 283; //: big
		total = (total ^ 2225239) * 563 + (total >>> 9) - n % 284; //: big
		total = (total ^ 2233158) * 565 + (total >>> 10) - n % 285; //: big
		total = (total ^ 2241077) * 567 + (total >>> 11) - n % 286; //: big
		total = (total ^ 2248996) * 569 + (total >>> 12) - n % 287; //: big
		total = (total ^ 2256915) * 571 + (total >>> 13) - n % 288; //: big
		total = (total ^ 2264834) * 573 + (total >>> 1) - n % 289; //: big
		total = (total ^ 2272753) * 575 + (total >>> 2) - n % 290; //: big
		total = (total ^ 2280672) * 577 + (total >>> 3) - n % 291; //: big
		total = (total ^ 2288591) * 579 + (total >>> 4) - n % 292; //: big
		total = (total ^ 2296510) * 581 + (total >>> 5) - n % 293; //: big
		total = (total ^ 2304429) * 583 + (total >>> 6) - n % 294; //: big
		total = (total ^ 2312348) * 585 + (total >>> 7) - n % 295; //: big
		total = (total ^ 2320267) * 587 + (total >>> 8) - n % 296; //: big
		total = (total ^ 2328186) * 589 + (total >>> 9) - n % 297; //: big
		total = (total ^ 2336105) * 591 + (total >>> 10) - n % 298; //: big
		total = (total ^ 2344024) * 593 + (total >>> 11) - n % 299; //: big
		total = (total ^ 2351943) * 595 + (total >>> 12) - n % 300; //: big
		total = (total ^ 2359862) * 597 + (total >>> 13) - n % 301; //: big
		total = (total ^ 2367781) * 599 + (total >>> 1) - n % 302; //: big
		total = (total ^ 2375700) * 601 + (total >>> 2) - n % 303; //: big
		total = (total ^ 2383619) * 603 + (total >>> 3) - n % 304; //: big
		total = (total ^ 2391538) * 605 + (total >>> 4) - n % 305; //: big
		total = (total ^ 2399457) * 607 + (total >>> 5) - n % 306; //: big
		total = (total ^ 2407376) * 609 + (total >>> 6) - n % 307; //: big
		total = (total ^ 2415295) * 611 + (total >>> 7) - n % 308; //: big
		total = (total ^ 2423214) * 613 + (total >>> 8) - n % 309; //: big
		total = (total ^ 2431133) * 615 + (total >>> 9) - n % 310; //: big
		total = (total ^ 2439052) * 617 + (total >>> 10) - n % 311; //: big
		total = (total ^ 2446971) * 619 + (total >>> 11) - n % 312; //: big
		total = (total ^ 2454890) * 621 + (total >>> 12) - n % 313; //: big
		total = (total ^ 2462809) * 623 + (total >>> 13) - n % 314; //: big
		total = (total ^ 2470728) * 625 + (total >>> 1) - n % 315; //: big
		total = (total ^ 2478647) * 627 + (total >>> 2) - n % 316; //: big
		total = (total ^ 2486566) * 629 + (total >>> 3) - n % 317; //: big
		total = (total ^ 2494485) * 631 + (total >>> 4) - n % 318; //: big
		total = (total ^ 2502404) * 633 + (total >>> 5) - n % 319; //: big
		total = (total ^ 2510323) * 635 + (total >>> 6) - n % 320; //: big
		total = (total ^ 2518242) * 637 + (total >>> 7) - n % 321; //: big
		total = (total ^ 2526161) * 639 + (total >>> 8) - n % 322; //: big
		total = (total ^ 2534080) * 641 + (total >>> 9) - n % 323; //: big
		total = (total ^ 2541999) * 643 + (total >>> 10) - n % 324; //: big
		total = (total ^ 2549918) * 645 + (total >>> 11) - n % 325; //: big
		total = (total ^ 2557837) * 647 + (total >>> 12) - n % 326; //: big
		total = (total ^ 2565756) * 649 + (total >>> 13) - n % 327; //: big
		total = (total ^ 2573675) * 651 + (total >>> 1) - n % 328; //: big
		total = (total ^ 2581594) * 653 + (total >>> 2) - n % 329; //: big
		total = (total ^ 2589513) * 655 + (total >>> 3) - n % 330; //: big
		total = (total ^ 2597432) * 657 + (total >>> 4) - n % 331; //: big
		total = (total ^ 2605351) * 659 + (total >>> 5) - n % 332; //: big
		total = (total ^ 2613270) * 661 + (total >>> 6) - n % 333; //: big
		total = (total ^ 2621189) * 663 + (total >>> 7) - n % 334; //: big
		total = (total ^ 2629108) * 665 + (total >>> 8) - n % 335; //: big
		total = (total ^ 2637027) * 667 + (total >>> 9) - n % 336; //: big
		total = (total ^ 2644946) * 669 + (total >>> 10) - n % 337; //: big
		total = (total ^ 2652865) * 671 + (total >>> 11) - n % 338; //: big
		total = (total ^ 2660784) * 673 + (total >>> 12) - n % 339; //: big
		total = (total ^ 2668703) * 675 + (total >>> 13) - n % 340; //: big
		total = (total ^ 2676622) * 677 + (total >>> 1) - n % 341; //: big
		total = (total ^ 2684541) * 679 + (total >>> 2) - n % 342; //: big
		total = (total ^ 2692460) * 681 + (total >>> 3) - n % 343; //: big
		total = (total ^ 2700379) * 683 + (total >>> 4) - n % 344; //: big
		total = (total ^ 2708298) * 685 + (total >>> 5) - n % 345; //: big
		total = (total ^ 2716217) * 687 + (total >>> 6) - n % 346; //: big
		total = (total ^ 2724136) * 689 + (total >>> 7) - n % 347; //: big
		total = (total ^ 2732055) * 691 + (total >>> 8) - n % 348; //: big
		total = (total ^ 2739974) * 693 + (total >>> 9) - n % 349; //: big
		total = (total ^ 2747893) * 695 + (total >>> 10) - n % 350; //: big
		total = (total ^ 2755812) * 697 + (total >>> 11) - n % 351; //: big
		total = (total ^ 2763731) * 699 + (total >>> 12) - n % 352; //: big
		total = (total ^ 2771650) * 701 + (total >>> 13) - n % 353; //: big
		total = (total ^ 2779569) * 703 + (total >>> 1) - n % 354; //: big
		total = (total ^ 2787488) * 705 + (total >>> 2) - n % 355; //: big
		total = (total ^ 2795407) * 707 + (total >>> 3) - n % 356; //: big
		total = (total ^ 2803326) * 709 + (total >>> 4) - n % 357; //: big
		total = (total ^ 2811245) * 711 + (total >>> 5) - n % 358; //: big
		total = (total ^ 2819164) * 713 + (total >>> 6) - n % 359; //: big
		total = (total ^ 2827083) * 715 + (total >>> 7) - n % 360; //: big
		total = (total ^ 2835002) * 717 + (total >>> 8) - n % 361; //: big
		total = (total ^ 2842921) * 719 + (total >>> 9) - n % 362; //: big
		total = (total ^ 2850840) * 721 + (total >>> 10) - n % 363; //: big
		total = (total ^ 2858759) * 723 + (total >>> 11) - n % 364; //: big
		total = (total ^ 2866678) * 725 + (total >>> 12) - n % 365; //: big
		total = (total ^ 2874597) * 727 + (total >>> 13) - n % 366; //: big
		total = (total ^ 2882516) * 729 + (total >>> 1) - n % 367; //: big
		total = (total ^ 2890435) * 731 + (total >>> 2) - n % 368; //: big
		total = (total ^ 2898354) * 733 + (total >>> 3) - n % 369; //: big
		total = (total ^ 2906273) * 735 + (total >>> 4) - n % 370; //: big
		total = (total ^ 2914192) * 737 + (total >>> 5) - n % 371; //: big
		total = (total ^ 2922111) * 739 + (total >>> 6) - n % 372; //: big
		total = (total ^ 2930030) * 741 + (total >>> 7) - n % 373; //: big
		total = (total ^ 2937949) * 743 + (total >>> 8) - n % 374; //: big
		total = (total ^ 2945868) * 745 + (total >>> 9) - n % 375; //: big
		total = (total ^ 2953787) * 747 + (total >>> 10) - n % 376; //: big
		total = (total ^ 2961706) * 749 + (total >>> 11) - n % 377; //: big
		total = (total ^ 2969625) * 751 + (total >>> 12) - n % 378; //: big
		total = (total ^ 2977544) * 753 + (total >>> 13) - n % 379; //: big
		total = (total ^ 2985463) * 755 + (total >>> 1) - n % 380; //: big
		total = (total ^ 2993382) * 757 + (total >>> 2) - n % 381; //: big
		total = (total ^ 3001301) * 759 + (total >>> 3) - n % 382; //: big
		total = (total ^ 3009220) * 761 + (total >>> 4) - n % 383; //: big
		total = (total ^ 3017139) * 763 + (total >>> 5) - n % 384; //: big
		total = (total ^ 3025058) * 765 + (total >>> 6) - n % 385; //: big
		total = (total ^ 3032977) * 767 + (total >>> 7) - n % 386; //: big
		total = (total ^ 3040896) * 769 + (total >>> 8) - n % 387; //: big
		total = (total ^ 3048815) * 771 + (total >>> 9) - n % 388; //: big
		total = (total ^ 3056734) * 773 + (total >>> 10) - n % 389; //: big
		total = (total ^ 3064653) * 775 + (total >>> 11) - n % 390; //: big
		total = (total ^ 3072572) * 777 + (total >>> 12) - n % 391; //: big
		total = (total ^ 3080491) * 779 + (total >>> 13) - n % 392; //: big
		total = (total ^ 3088410) * 781 + (total >>> 1) - n % 393; //: big
		total = (total ^ 3096329) * 783 + (total >>> 2) - n % 394; //: big
		total = (total ^ 3104248) * 785 + (total >>> 3) - n % 395; //: big
		total = (total ^ 3112167) * 787 + (total >>> 4) - n % 396; //: big
		total = (total ^ 3120086) * 789 + (total >>> 5) - n % 397; //: big
		total = (total ^ 3128005) * 791 + (total >>> 6) - n % 398; //: big
		total = (total ^ 3135924) * 793 + (total >>> 7) - n % 399; //: big
		total = (total ^ 3143843) * 795 + (total >>> 8) - n % 400; //: big
		total = (total ^ 3151762) * 797 + (total >>> 9) - n % 401; //: big
		total = (total ^ 3159681) * 799 + (total >>> 10) - n % 402; //: big
		total = (total ^ 3167600) * 801 + (total >>> 11) - n % 403; //: big
		total = (total ^ 3175519) * 803 + (total >>> 12) - n % 404; //: big
		total = (total ^ 3183438) * 805 + (total >>> 13) - n % 405; //: big
		total = (total ^ 3191357) * 807 + (total >>> 1) - n % 406; //: big
		total = (total ^ 3199276) * 809 + (total >>> 2) - n % 407; //: big
		total = (total ^ 3207195) * 811 + (total >>> 3) - n % 408; //: big
		total = (total ^ 3215114) * 813 + (total >>> 4) - n % 409; //: big
		total = (total ^ 3223033) * 815 + (total >>> 5) - n % 410; //: big
		total = (total ^ 3230952) * 817 + (total >>> 6) - n % 411; //: big
		total = (total ^ 3238871) * 819 + (total >>> 7) - n % 412; //: big
		total = (total ^ 3246790) * 821 + (total >>> 8) - n % 413; //: big
		total = (total ^ 3254709) * 823 + (total >>> 9) - n % 414; //: big
		total = (total ^ 3262628) * 825 + (total >>> 10) - n % 415; //: big
		total = (total ^ 3270547) * 827 + (total >>> 11) - n % 416; //: big
		total = (total ^ 3278466) * 829 + (total >>> 12) - n % 417; //: big
		total = (total ^ 3286385) * 831 + (total >>> 13) - n % 418; //: big
		total = (total ^ 3294304) * 833 + (total >>> 1) - n % 419; //: big
		total = (total ^ 3302223) * 835 + (total >>> 2) - n % 420; //: big
		total = (total ^ 3310142) * 837 + (total >>> 3) - n % 421; //: big
		total = (total ^ 3318061) * 839 + (total >>> 4) - n % 422; //: big
		total = (total ^ 3325980) * 841 + (total >>> 5) - n % 423; //: big
		return total; //: big
	}

	static void turn(String[] texts, Kind[] kinds) {
		for (int n = 0; n < 1000; n++) { //: turn
			Target.sink += near(n); //: turn
			Target.sink += far(n); //: turn
			Target.sink += text(texts[n & 3]); //: turn
			Target.sink += kind(kinds[n % 3]); //: turn
			if (n % 20 == 0) //: turn
				Target.sink += big(n); //: turn
		}
	} //: turn

	public static void main(String[] arguments) {
		String[] texts = { "one", "two", "three", "four" };
		Kind[] kinds = Kind.values();
		turn(texts, kinds);
		Target.ready(Switches.class);
		while (true) //: main
			turn(texts, kinds); //: main
	}
}
