import CBORCoding
import Foundation

import LMDBCaching

extension UntrustedKind {
  /// Valid inputs from the encoders.
  package func seeds() throws -> [[UInt8]] {
    switch self {
    case .cbor:
      let encoder = CBOREncoder()
      return try [
        encoder.encode(UntrustedShape()), encoder.encode(UntrustedShape.Part()),
        encoder.encode(UntrustedShape().choices), encoder.encode(["a": [1.5, 2, -0.0], "b": []]),
        encoder.encode([Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceReferenceDate: 0.1)]),
        encoder.encode([Decimal(string: "1.5")!, Decimal(-3)]),
        encoder.encode([[Int]](repeating: [1, 2, 3], count: 8)),
      ].map { Array($0) }
        + [
          [0x9F, 0x01, 0x02, 0xFF], [0xBF, 0x61, 0x61, 0x01, 0xFF], [0x5F, 0x41, 0x01, 0x41, 0x02, 0xFF],
          [0xC2, 0x49, 1, 0, 0, 0, 0, 0, 0, 0, 0], [0xF9, 0x3C, 0x00], [0x7F, 0x61, 0x61, 0x61, 0x62, 0xFF],
        ]
    case .graph:
      return try Self.objects().map {
        Array(try CBORKeyedArchiver.archivedData(withRootObject: $0, requiringSecureCoding: false))
      }
    case .record: return try Self.records().map { [UInt8($0.key.count)] + $0.key + $0.record }
    case .journal:
      let records = try Self.records()
      let puts = records.enumerated().map { (UInt8(1), $1.key, $1.record, UInt64($0 + 1)) }
      let others: [(UInt8, [UInt8], [UInt8], UInt64)] = [
        (2, Array("key".utf8), [], 20), (3, [], [], 21), (4, Array("k".utf8), [], 22),
      ]
      return [puts, others, Array(puts.prefix(1)), [], puts + others].map { frames in
        UntrustedBytes.journal(
          frames.map { (operation: $0.0, key: $0.1, record: $0.2, stamp: $0.3) }, identifier: 7)
      }
    case .metadata: return [UntrustedBytes.metadata(count: 0, stamp: 0), UntrustedBytes.metadata(count: 3, stamp: 9)]
    case .statistics:
      return [
        UntrustedBytes.statistics(name: "", count: 0), UntrustedBytes.statistics(name: "server ü", count: 9),
        UntrustedBytes.statistics(name: String(repeating: "é", count: 32), count: 1_000),
      ]
    case .json:
      return [
        #"{"a":[1,2.5,-1e10,true,false,null,"text é \ud83d\ude00\n"],"b":{"c":{}}}"#, "[]", "\"\"", "-0.0",
        "[[[[[[1]]]]]]", "18446744073709551615",
      ].map { Array($0.utf8) }
    }
  }

  /// Instances of Foundation's value classes and of a custom class, some of them shared.
  static func objects() -> [any NSCoding] {
    let shared = NSArray(array: [NSString("shared"), NSNumber(value: 1)])
    let attributed = NSMutableAttributedString(string: "attributed")
    attributed.addAttribute(NSAttributedString.Key("key"), value: 1, range: NSRange(location: 0, length: 3))
    let indexes = NSMutableIndexSet(indexesIn: NSRange(location: 1, length: 3))
    indexes.add(in: NSRange(location: 300, length: 2))
    let components = NSDateComponents()
    components.year = 2020
    return [
      NSString("text ü"), NSNumber(value: 1.5), NSNumber(value: true), NSNumber(value: UInt64.max),
      NSData(data: Data(0..<40)), NSMutableData(data: Data([1])), NSDate(timeIntervalSinceReferenceDate: 1.25),
      NSUUID(uuidString: "00010203-0405-0607-0809-0A0B0C0D0E0F")!, NSURL(string: "https://example.org/a?b")!,
      NSURL(string: "b", relativeTo: URL(string: "https://example.org/")!)!,
      NSArray(array: [shared, shared, NSNull(), NSMutableArray(array: [1, "x"])]),
      NSDictionary(dictionary: ["a": shared, "b": ["c": NSNumber(value: 2)]]),
      NSMutableDictionary(dictionary: ["k": 1]), NSSet(array: ["a", "b", 3]), NSCountedSet(array: ["a", "a", "b"]),
      NSOrderedSet(array: [1, 2, "x"]), attributed, NSAttributedString(string: "plain"), indexes,
      NSIndexPath(indexes: [1, 200, 3], length: 3), NSValue(range: NSRange(location: 1, length: 2)),
      NSValue(rect: NSRect(x: 1, y: 2, width: 3, height: 4)), NSLocale(localeIdentifier: "en_US"),
      NSTimeZone(name: "UTC")!, components,
      NSDateInterval(start: Date(timeIntervalSinceReferenceDate: 0), duration: 5),
      NSMeasurement(doubleValue: 4, unit: UnitLength.meters), NSURLQueryItem(name: "a", value: "b"),
      UntrustedNode(UntrustedNode(NSArray(array: [UntrustedNode(nil), shared, shared]))),
      NSArray(array: [UntrustedNode(NSSet(array: [UntrustedNode(nil)])), NSUUID()]),
    ]
  }

  private static func records() throws -> [(key: [UInt8], record: [UInt8])] {
    let shape = try CBOREncoder().encode(UntrustedShape.Part())
    let graph = try CBORKeyedArchiver.archivedData(withRootObject: UntrustedNode(nil), requiringSecureCoding: false)
    let values: [(ArchiveFormat, [UInt8])] = [
      (.bytes, [1, 2, 3]), (.string, Array("text".utf8)), (.bool, [1]),
      (.signedInteger, Array(repeating: 0xFF, count: 8)),
      (.double, [0, 0, 0, 0, 0, 0, 0xF8, 0x3F]), (.date, [0, 0, 0, 0, 0, 0, 0, 0x40]), (.uuid, Array(0..<16)),
      (.url, Array("https://example.org".utf8)), (.int32Array, Array(0..<12)),
      (.doubleArray, Array(repeating: 0, count: 16)),
      (.custom, Array("[1,2]".utf8)), (.cbor, Array(shape)), (.objectGraph, Array(graph)),
    ]
    return values.enumerated().map { index, value in
      let key = Array("key \(index)".utf8)
      let record = key.withUnsafeBytes { key in
        value.1.withUnsafeBytes {
          UntrustedBytes.record(
            of: $0, format: value.0, key: key, stamp: UInt64(index + 1), expires: index.isMultiple(of: 3) ? 5 : 0,
            cost: index.isMultiple(of: 4) ? 1 << 40 : 7, holdsKey: index.isMultiple(of: 5))
        }
      }
      return (key, record)
    }
  }
}
