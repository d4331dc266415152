import Foundation
import TestSupport
import Testing

@testable import CBORCoding

/// Deep nesting: a limit, and no stack overflow.
@Suite struct CBORNestingTests {
  @Test(arguments: [("81", ""), ("9f", "ff"), ("c6", ""), ("a16161", ""), ("bf6161", "ff")])
  func deepDocumentsAreRefused(_ opening: String, _ closing: String) throws {
    func nested(_ depth: Int) -> [UInt8] {
      [UInt8](hex: String(repeating: opening, count: depth) + "00" + String(repeating: closing, count: depth))
    }
    func skip(_ bytes: [UInt8]) -> CBORError.Code? { bytes.withBytes { CBORHostileTests.skipError($0)?.code } }
    #expect(skip(nested(512)) == nil && skip(nested(513)) == .tooDeep)
    for depth in [600, 100_000] {
      let bytes = nested(depth)
      let opened = bytes.prefix(depth * opening.count / 2)
      #expect(skip(bytes) == .tooDeep && skip(Array(opened)) == .tooDeep)
      for document in [bytes, Array(opened)] {
        let error = message { _ = try CBORDecoder().decode(CBORItem.self, from: Data(document)) }
        #expect(error.contains("nest too deep; raise maximumDepth"))
      }
    }
  }

  @Test func theDepthIsTheCallers() throws {
    var decoder = CBORDecoder()
    var encoder = CBOREncoder()
    for depth in [Int.max, .max - 3, .max - 4, 3] {
      (decoder.maximumDepth, encoder.maximumDepth) = (depth, depth)
      #expect(try decoder.decode([[[Int]]].self, from: encoder.encode([[[1]]])) == [[[1]]])
    }
    // Below the outermost array.
    let allowed = try encoder.encode([[[["x": 1]]]])
    #expect(try decoder.decode([[[[String: Int]]]].self, from: allowed) == [[[["x": 1]]]])
    #expect(throws: EncodingError.self) { try encoder.encode([[[[["x": 1]]]]]) }
    let deep = try CBOREncoder().encode([[[[["x": 1]]]]])
    #expect(throws: DecodingError.self) { try decoder.decode([[[[[String: Int]]]]].self, from: deep) }
    #expect(throws: DecodingError.self) { try decoder.decode(CBORItem.self, from: deep) }
  }

  final class Link: Codable {
    var next: Link?
    var padding = 0
    init(_ next: Link?) { self.next = next }
  }

  @Test(arguments: [512 << 10, 1 << 20, 16 << 20]) func theStackOfAThreadIsEnough(_ stack: Int) throws {
    // The deepest possible nesting, with the large stack frames of an unoptimized build.
    let deep = Data(
      repeatElement([UInt8](hex: "a1646e657874"), count: 512).joined() + [UInt8](hex: "a16770616464696e6700"))
    let failure = onThread(stack: stack) { message { _ = try CBORDecoder().decode(Link.self, from: deep) } }
    if !failure.isEmpty { #expect(failure.contains("nest deeper than") || failure.contains("padding")) }
    if stack <= 512 << 10 { #expect(failure.contains("stack")) }
    if stack >= 16 << 20 { #expect(failure.contains("padding")) }
    let cycle = onThread(stack: stack) { () -> (path: [String], text: String) in
      let link = Link(nil)
      link.next = Link(link)
      defer { link.next = nil }
      return CBORErrorTests.encodingError(of: link)
    }
    #expect(cycle.text.contains("cycle") && cycle.path.count > 30 && Set(cycle.path) == ["next"], "\(cycle)")
  }

  @Test func aCycleThroughSingleValuesIsAnError() {
    final class Loop: Encodable, Sendable {
      func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self)
      }
    }
    let failure = CBORErrorTests.encodingError(of: ["loop": Loop()])
    #expect(failure.path == ["loop"] && failure.text.contains("cycle"))
  }
}
