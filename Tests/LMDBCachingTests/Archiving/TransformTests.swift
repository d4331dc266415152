import Foundation
import TestSupport
import Testing

@testable import LMDBCaching

/// Adds its identifier to every byte; leaves values that begin with a zero as they are.
private struct Shift: ValueTransform {
  var identifier: UInt8
  var restores = true

  func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? {
    if context.key == "refused" { throw ValueTransformError("refused") }
    return bytes.first == 0 ? nil : Data(bytes.map { $0 &+ identifier })
  }

  func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data {
    if !restores { throw ValueTransformError("cannot") }
    return Data(bytes.map { $0 &- identifier })
  }
}

/// Multiplies by three, so the result depends on its order relative to ``Shift``.
private struct Triple: ValueTransform {
  var identifier: UInt8 { 200 }
  func apply(to bytes: Data, _ context: ValueTransformContext) throws -> Data? { Data(bytes.map { $0 &* 3 }) }
  func restore(_ bytes: Data, _ context: ValueTransformContext) throws -> Data { Data(bytes.map { $0 &* 171 }) }
}

struct TransformTests {
  let directory = CacheDirectory()

  static let sizes = [0, 1, 1_024, 200_000]

  private func open(_ transforms: [any ValueTransform]) throws(CacheError) -> LMDBCache {
    try directory.open {
      $0.valueTransforms = transforms
      $0.disk.inlineThreshold = 100_000
    }
  }

  @Test(arguments: sizes) func restoresInReverse(size: Int) throws {
    var random = SeededRandom(UInt64(size))
    let data = Data([1] + random.bytes(size))
    let untouched = Data([0] + random.bytes(size))
    var cache = try open([Shift(identifier: 130), Triple()])
    try cache.set(data, forKey: "data")
    try cache.set(untouched, forKey: "untouched")
    try cache.write { $0.set(data, forKey: "batch") }
    for _ in 0..<2 {
      cache.memory.removeAll()
      #expect(try cache.values(Data.self, forKeys: ["data", "untouched", "batch"]) == [data, untouched, data])
      #expect(try cache.withBytes(forKey: "data") { $0.withUnsafeBytes { Data($0) } } == data)
      #expect(try cache.read { try $0.value(forKey: "batch") } == data)
      try cache.close()
      // Reading ignores the configured order and transforms added later.
      cache = try open([Shift(identifier: 131), Triple(), Shift(identifier: 130)])
    }
    try cache.close()
  }

  @Test func failuresKeepWhatIsThere() throws {
    var cache = try open([Shift(identifier: 130)])
    let error = #expect(throws: CacheError.self) { try cache.set(1, forKey: "refused") }
    #expect(error?.code == .encodingFailed && error.map { "\($0)".hasSuffix("(refused)") } == true)
    #expect(errorCode { try cache.write { $0.set(1, forKey: "refused") } } == .encodingFailed)
    #expect(try cache.count == 0)
    try cache.set("text", forKey: "key")
    try cache.close()
    let others: [([any ValueTransform], CacheError.Code)] = [
      ([Shift(identifier: 130, restores: false)], .decodingFailed), ([], .missingTransform),
    ]
    for (transforms, code) in others {
      cache = try open(transforms)
      #expect(errorCode { try cache.value(String.self, forKey: "key") } == code)
      #expect(errorCode { try cache.withBytes(forKey: "key") { _ in } } == code)
      #expect(try cache.contains("key") && cache.count == 1)
      try cache.close()
    }
    cache = try open([Shift(identifier: 130)])
    #expect(try cache.value(forKey: "key") == "text")
    try cache.close()
  }

  @Test func identifiersDiffer() {
    #expect(errorCode { try open([Triple(), Triple()]) } == .invalidArgument)
    for identifier: UInt8 in [0, 1, 16, 17, 127] {
      // Identifiers below 128 are reserved for the package.
      #expect(errorCode { try open([Shift(identifier: identifier)]) } == .invalidArgument)
    }
  }

  #if Compression
    @Test(arguments: sizes) func compression(size: Int) throws {
      var random = SeededRandom(UInt64(size))
      let noise = Data(random.bytes(size))
      let text = Data(String(repeating: "all work and no play ", count: size / 21 + 1).utf8)
      let cache = try open([ZstandardCompression()])
      try cache.set(noise, forKey: "noise")
      try cache.set(text, forKey: "text")
      try cache.flush()
      cache.memory.removeAll()
      #expect(try cache.value(forKey: "noise") == noise)
      #expect(try cache.value(forKey: "text") == text)
      let sizes = try Dictionary(uniqueKeysWithValues: cache.entries().map { ($0.key, $0.size) })
      #expect(sizes["noise"] == noise.count)
      if size >= 1_024 { #expect(sizes["text"]! < text.count / 4) }
      try cache.close()
    }

    /// Forged frames fail in bounded time and memory.
    @Test func hostileFrames() throws {
      let compression = ZstandardCompression()
      let context = ValueTransformContext(key: "", authenticatedData: Data(), maximumLength: 1 << 20)
      let text = Data(String(repeating: "text ", count: 1_000).utf8)
      let frame = try #require(try compression.apply(to: text, context))
      #expect(try compression.restore(frame, context) == text)
      var random = SeededRandom(1)
      for _ in 0..<20_000 {
        var bytes = frame
        switch random.below(3) {
        case 0: bytes = Data(random.bytes(random.below(40)))
        case 1: bytes = bytes.prefix(random.below(bytes.count))
        default: for _ in 0...random.below(4) { bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8)) }
        }
        if let restored = try? compression.restore(bytes, context) { #expect(restored.count <= 1 << 20) }
      }
      // A frame that claims a terabyte.
      var claim = Data([0x28, 0xB5, 0x2F, 0xFD, 0xC0, 0x58])
      withUnsafeBytes(of: UInt64(1) << 40) { claim.append(contentsOf: $0) }
      claim.append(contentsOf: [1, 0, 0])
      #expect(throws: ValueTransformError.self) { try compression.restore(claim, context) }
    }
  #endif
}
