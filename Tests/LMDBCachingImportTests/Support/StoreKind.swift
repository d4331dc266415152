import Foundation
import LMDBCaching
import LMDBCachingImport
import Testing

/// A kind of store, for the tests that every source must pass: texts under keys.
struct StoreKind: Sendable, CustomTestStringConvertible {
  let testDescription: String
  /// Writes a new store.
  let write: @Sendable ([(key: String, text: String)], Place) throws -> Void
  let source: @Sendable (Place) -> ImportSource
  /// Reads an imported text.
  let read: @Sendable (LMDBCache, String) throws -> String?
  /// The source for a path with content of another kind.
  let foreign: @Sendable (Place) throws -> ImportSource

  static let all: [StoreKind] = [yyCache, mmkv, pinCache, files, userDefaults]

  private static func string(_ cache: LMDBCache, _ key: String) throws -> String? {
    try cache.value(String.self, forKey: key)
  }

  private static func foreignFile(_ place: Place) throws -> URL {
    URL(fileURLWithPath: try place.write("no store of any kind".utf8, to: "store"))
  }

  static let yyCache = StoreKind(
    testDescription: "yycache",
    write: { entries, place in
      let writer = try YYCacheWriter(at: place.store)
      for (key, text) in entries { try writer.add(key, archive(NSString(string: text))) }
    },
    source: { .yyCache(directory: $0.store) }, read: string,
    foreign: { .yyCache(directory: try foreignFile($0)) })

  static let mmkv = StoreKind(
    testDescription: "mmkv",
    write: { entries, place in
      var writer = MMKVWriter()
      for (key, text) in entries { writer.add(key, text: text) }
      try writer.write(to: place, as: "store")
    },
    source: { .mmkv(file: $0.store, types: ["*": .string]) }, read: string,
    foreign: { place in
      try place.write("no store".utf8, to: "store.crc")
      return .mmkv(file: try foreignFile(place))
    })

  static let pinCache = StoreKind(
    testDescription: "pincache",
    write: { entries, place in
      for (key, text) in entries { try PINCacheWriter.add(key, archive(NSString(string: text)), to: place) }
    },
    source: { .pinCache(directory: $0.store) }, read: string,
    foreign: { .pinCache(directory: try foreignFile($0)) })

  static let files = StoreKind(
    testDescription: "files",
    write: { entries, place in for (key, text) in entries { try place.write(text.utf8, to: "store/" + key) } },
    source: { .files(in: $0.store) },
    read: { cache, key in try cache.value(Data.self, forKey: key).map { String(decoding: $0, as: UTF8.self) } },
    foreign: { .files(in: try foreignFile($0)) })

  static let userDefaults = StoreKind(
    testDescription: "userdefaults",
    write: { entries, place in
      let values = Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.text) })
      let data = try PropertyListSerialization.data(fromPropertyList: values, format: .binary, options: 0)
      try place.write(data, to: "store")
    },
    source: { .userDefaults(file: $0.store) }, read: string,
    foreign: { .userDefaults(file: try foreignFile($0)) })
}

func archive(_ object: some NSObject & NSCoding) throws -> Data {
  try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: false)
}
