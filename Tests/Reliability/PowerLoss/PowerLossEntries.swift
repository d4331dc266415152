import Foundation
import TestSupport

/// The trial's keys, and the value that each write stores.
struct PowerLossEntries {
  static let keyCount = 48

  let seed: UInt64
  let inlineThreshold: Int

  init(seed: UInt64) {
    self.seed = seed
    // Values larger than a journal segment (16 KiB) bypass the journal.
    inlineThreshold = seed % 2 == 0 ? 4_096 : 24_000
  }

  static func key(_ index: Int) -> String {
    switch index % 8 {
    case 0...4: "key\(index)"
    case 5, 6: "prefix/\(index)"
    default: String(repeating: "long", count: 150) + "\(index)"
    }
  }

  static let indices: [String: Int] = Dictionary(uniqueKeysWithValues: (0..<keyCount).map { (key($0), $0) })

  func value(_ index: Int, _ number: Int) -> Data {
    let head = Data("\(index) \(number) ".utf8)
    var mix = seed &+ UInt64(number) &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(index) &* 0xD1B5_4A32_D192_ED03
    mix ^= mix >> 29
    let size =
      switch mix % 16 {
      case 0...9: Int(mix >> 8 & 0xFFFF_FFFF) % 300
      case 10...12: 300 + Int(mix >> 8 & 0xFFFF_FFFF) % 3_000
      case 13: 5_000 + Int(mix >> 8 & 0xFFFF_FFFF) % 10_000
      case 14: 16_000 + Int(mix >> 8 & 0xFFFF_FFFF) % 8_000
      default: 24_001 + Int(mix >> 8 & 0xFFFF_FFFF) % 20_000
      }
    return head + Data([UInt8](count: min(size, 50_000)) { UInt8(truncatingIfNeeded: mix &+ UInt64($0) &* 31) })
  }

  /// Which write stored this value; nil: none did.
  func number(of value: Data, _ index: Int) -> Int? {
    let words = value.prefix(40).split(separator: UInt8(ascii: " "), maxSplits: 2)
    guard words.count >= 2, Int(String(decoding: words[0], as: UTF8.self)) == index,
      let number = Int(String(decoding: words[1], as: UTF8.self)), self.value(index, number) == value
    else { return nil }
    return number
  }
}
