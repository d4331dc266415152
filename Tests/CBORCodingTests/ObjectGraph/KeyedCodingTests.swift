import Foundation
import Testing

@testable import CBORCoding

/// The calls of an object that encodes and decodes itself.
@Suite struct KeyedCodingTests {
  @Test func valuesAreReadAsEachOtherIfNothingIsLost() throws {
    #expect(try roundTrip(nil) == nil)
    let inexact = [
      -9_007_199_254_740_993, -9_007_199_254_740_995, -9_007_199_254_740_996, -36_028_797_018_963_972, Int.min + 1_025,
    ]
    try scripted { coder in
      coder.encode(7 as Int, forKey: "int")
      coder.encode(7.0 as Double, forKey: "double")
      coder.encode(true, forKey: "true")
      coder.encode(NSNumber(value: 9), forKey: "object")
      coder.encode(Int32.min, forKey: "int32")
      coder.encode(Int64.min, forKey: "int64")
      for number in inexact { coder.encode(number, forKey: "\(number)") }
      coder.encode(Float.greatestFiniteMagnitude, forKey: "float")
      coder.encode(-0.0 as Double, forKey: "-0")
      coder.encode(nil as Any?, forKey: "nil")
      coder.encode(NSNull(), forKey: "null")
      coder.encode(NSPoint(x: 1, y: 2.5), forKey: "point")
      coder.encode(NSRect(x: 1, y: 2, width: 3, height: 4), forKey: "rectangle")
      coder.encode(NSSize(width: 5, height: 6), forKey: "size")
      coder.encodeBytes([1, 2, 3] as [UInt8], length: 3, forKey: "bytes")
      coder.encodeBytes(nil, length: 0, forKey: "no bytes")
    } _: { coder in
      #expect(coder.allowsKeyedCoding && coder.containsValue(forKey: "nil") && !coder.containsValue(forKey: "x"))
      #expect(coder.decodeDouble(forKey: "int") == 7 && coder.decodeFloat(forKey: "int") == 7)
      #expect(coder.decodeInteger(forKey: "double") == 7 && coder.decodeInteger(forKey: "object") == 9)
      #expect(coder.decodeObject(of: NSNumber.self, forKey: "int") == 7)
      #expect(coder.decodeBool(forKey: "true") && coder.decodeInteger(forKey: "true") == 1)
      #expect(coder.decodeInt32(forKey: "int32") == .min && coder.decodeCInt(forKey: "int32") == .min)
      #expect(coder.decodeInt64(forKey: "int64") == .min && coder.decodeInteger(forKey: "int64") == .min)
      #expect(coder.decodeFloat(forKey: "float") == .greatestFiniteMagnitude)
      #expect(coder.decodeDouble(forKey: "-0").sign == .minus)
      // Rounded once, to the nearest.
      for number in inexact { #expect(coder.decodeDouble(forKey: "\(number)") == Double(number)) }
      #expect(coder.decodeObject(forKey: "nil") == nil && coder.decodeObject(forKey: "null") is NSNull)
      #expect(coder.decodePoint(forKey: "point") == NSPoint(x: 1, y: 2.5))
      #expect(coder.decodeRect(forKey: "rectangle") == NSRect(x: 1, y: 2, width: 3, height: 4))
      #expect(coder.decodeSize(forKey: "size") == NSSize(width: 5, height: 6))
      #expect((coder.decodeObject(forKey: "bytes") as? NSData)?.length == 3)
      coder.withDecodedUnsafeBytes(forKey: "bytes") { #expect($0.map { Array($0) } == [1, 2, 3]) }
      coder.withDecodedUnsafeBytes(forKey: "no bytes") { #expect($0?.count == 0) }
      // Absent values.
      #expect(coder.decodeObject(forKey: "x") == nil && coder.decodeObject(of: NSString.self, forKey: "x") == nil)
      #expect(coder.decodeInteger(forKey: "x") == 0 && coder.decodeDouble(forKey: "x") == 0)
      #expect(!coder.decodeBool(forKey: "x"))
      coder.withDecodedUnsafeBytes(forKey: "x") { #expect($0 == nil) }
      #expect(coder.error == nil)
    }
  }

  @Test(arguments: [0, 1, 5, 16, 17, 23, 24, 25, 255, 256, 70_000])
  func anyNumberOfFieldsInAnyOrder(_ count: Int) throws {
    let shared = NSMutableArray(array: ["shared"])
    /// Returns keys of many lengths; the first one is empty.
    func key(_ index: Int) -> String { index == 0 ? "" : "\(index)" + String(repeating: "é", count: index % 20) }
    try scripted { coder in
      coder.encode(shared, forKey: "shared 1")
      for index in 0..<count { coder.encode(index, forKey: key(index)) }
      coder.encode(shared, forKey: "shared 2")
    } _: { coder in
      for index in Array(0..<count) + Array((0..<count).reversed())
      where coder.decodeInteger(forKey: key(index)) != index {
        Issue.record("\(index)")
      }
      let first = coder.decodeObject(forKey: "shared 1") as? NSMutableArray
      #expect(first != nil && coder.decodeObject(forKey: "shared 2") as? NSMutableArray === first)
      #expect(!coder.containsValue(forKey: key(count)) && coder.error == nil)
    }
  }

  // MARK: Values without keys

  @Test func valuesWithoutKeys() throws {
    try scripted { coder in
      coder.encode("first" as Any?)
      coder.encode(1 as Int, forKey: "key")
      coder.encode(nil as Any?)
      coder.encode(Data([1, 2]))
      coder.encodePropertyList(["a": [1, 2]])
      coder.encodeBytes([UInt8](repeating: 9, count: 3), length: 3)
    } _: { coder in
      #expect(coder.decodeObject() as? NSString == "first" && coder.decodeObject() == nil)
      #expect(coder.decodeInteger(forKey: "key") == 1 && coder.decodeData() == Data([1, 2]))
      #expect((coder.decodePropertyList() as? NSDictionary)?.object(forKey: "a") as? NSArray == [1, 2])
      #expect(coder.decodeData() == Data([9, 9, 9]) && coder.error == nil)
    }
  }

  @Test(arguments: ["^v", "", "ii", "{pair=ii}", "[3i", "[99999999999999999999i]", "[-1i]", "[[2i]]", "?", "[]", "*"])
  func typesWithoutACodingAreAnError(_ type: String) {
    let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
    withUnsafePointer(to: 0) { archiver.encodeValue(ofObjCType: type, at: $0) }
    #expect("\(archiver.error.map { "\($0)" } ?? "")".contains("Objective-C type") && archiver.encodedData.isEmpty)
  }

  // MARK: Mistakes

  @Test func codersThatHaveFinishedCodeNothing() throws {
    let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
    archiver.encode(2 as Int, forKey: "second")
    archiver.finishEncoding()
    let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    #expect(unarchiver.decodeInteger(forKey: "second") == 2)
    unarchiver.finishDecoding()
    #expect(unarchiver.decodeInteger(forKey: "second") == 0 && unarchiver.error == nil)
    archiver.encode(2 as Int, forKey: "late")
    #expect("\(archiver.error!)".contains("after the end"))
  }

  /// The mistakes of a class that encodes or decodes itself.
  @Test func mistakesAreErrors() throws {
    func encodeKeys(_ numbers: [Int]) -> (NSCoder) -> Void {
      { coder in for number in numbers { coder.encode(number, forKey: "key \(number)") } }
    }
    let rows: [(String, (NSCoder) -> Void, (NSCoder) -> Void)] = [
      ("only 1", { $0.encode("only" as Any?) }, { coder in for _ in 0..<2 { _ = coder.decodeObject() } }),
      ("\"key 1\"", encodeKeys([1, 1]), { _ in }), ("\"key 1\"", encodeKeys(Array(1..<40) + [1]), { _ in }),
      ("while an object was being encoded", { ($0 as? CBORKeyedArchiver)?.finishEncoding() }, { _ in }),
    ]
    for (text, encode, decode) in rows { #expect(message { try scripted(encode, decode) }.contains(text), "\(text)") }
    let data = try archive([Scripted()])
    Scripted.decode = { _ in false }
    defer { Scripted.decode = { _ in true } }
    #expect(message { _ = try unarchive(data) }.contains("Scripted"))
  }

  @Test func anErrorThatAnObjectReportsIsThrownAsItIs() {
    struct Failure: Error {}
    #expect(throws: Failure.self) { try scripted({ $0.failWithError(Failure()) }, { _ in }) }
    #expect(throws: Failure.self) { try scripted({ _ in }, { $0.failWithError(Failure()) }) }
  }

  @Test func wrongKindsAreErrorsAndZero() {
    let rows: [(String, (NSCoder, String) -> Bool)] = [
      ("string", { $0.decodeInteger(forKey: $1) == 0 }), ("string", { $0.decodeInt32(forKey: $1) == 0 }),
      ("string", { $0.decodeDouble(forKey: $1) == 0 }), ("string", { $0.decodeFloat(forKey: $1) == 0 }),
      ("string", { !$0.decodeBool(forKey: $1) }),
      ("string", { $0.decodeObject(of: NSNumber.self, forKey: $1) == nil }),
      ("string", { $0.withDecodedUnsafeBytes(forKey: $1) { $0 == nil } }),
      ("box", { $0.decodeInteger(forKey: $1) == 0 }),
      ("box", { $0.decodeObject(of: NSString.self, forKey: $1) == nil }),
      ("half", { $0.decodeInteger(forKey: $1) == 0 }), ("large", { $0.decodeInt32(forKey: $1) == 0 }),
      ("large", { !$0.decodeBool(forKey: $1) }), ("nil", { $0.decodeInteger(forKey: $1) == 0 }),
    ]
    for (key, isReadAsZero) in rows {
      let error = message {
        try scripted { coder in
          coder.encode("text" as Any?, forKey: "string")
          coder.encode(Box(nil), forKey: "box")
          coder.encode(0.5 as Double, forKey: "half")
          coder.encode(Int.max, forKey: "large")
          coder.encode(nil as Any?, forKey: "nil")
          coder.encode(5 as Int, forKey: "good")
        } _: { coder in
          #expect(isReadAsZero(coder, key) && coder.decodeInteger(forKey: "good") == 0, "\(key)")
        }
      }
      #expect(error.contains("Scripted.\(key)"), "\(error)")
    }
  }
}
