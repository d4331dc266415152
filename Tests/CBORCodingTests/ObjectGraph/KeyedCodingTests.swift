import Foundation
import Testing

@testable import CBORCoding

@Suite struct KeyedCodingTests {
  @Test func numbersComeBackUnderTheirKeys() throws {
    try scripted { coder in
      coder.encode(true, forKey: "true")
      coder.encode(false, forKey: "false")
      coder.encode(Int32.min, forKey: "int32")
      coder.encode(Int64.min, forKey: "int64")
      coder.encode(Int.max, forKey: "int")
      coder.encode(-1 as Int, forKey: "-1")
      coder.encode(Float.greatestFiniteMagnitude, forKey: "float")
      coder.encode(Double.leastNonzeroMagnitude, forKey: "double")
      coder.encode(Double.infinity, forKey: "infinity")
      coder.encode(Double.nan, forKey: "nan")
      coder.encode(-0.0 as Double, forKey: "-0")
    } _: { coder in
      #expect(coder.allowsKeyedCoding)
      #expect(coder.decodeBool(forKey: "true"))
      #expect(!coder.decodeBool(forKey: "false"))
      #expect(coder.decodeInt32(forKey: "int32") == .min)
      #expect(coder.decodeCInt(forKey: "int32") == .min)
      #expect(coder.decodeInt64(forKey: "int64") == .min)
      #expect(coder.decodeInteger(forKey: "int") == .max)
      #expect(coder.decodeInteger(forKey: "-1") == -1)
      #expect(coder.decodeFloat(forKey: "float") == .greatestFiniteMagnitude)
      #expect(coder.decodeDouble(forKey: "double") == .leastNonzeroMagnitude)
      #expect(coder.decodeDouble(forKey: "infinity") == .infinity)
      #expect(coder.decodeDouble(forKey: "nan").isNaN)
      #expect(coder.decodeDouble(forKey: "-0").sign == .minus)
    }
  }

  /// Integers without an exact floating-point value, and their neighbors: rounded once, to the nearest.
  @Test(
    arguments: [
      9_007_199_254_740_991, 9_007_199_254_740_992, 9_007_199_254_740_993, 9_007_199_254_740_994, 9_007_199_254_740_995,
      36_028_797_018_963_971, UInt64(Int64.max), UInt64.max - 2_048, UInt64.max - 1_024, UInt64.max - 1, UInt64.max,
    ] as [UInt64])
  func negativeIntegersAreReadAsTheNearestNumber(_ argument: UInt64) throws {
    let digits = String(argument, radix: 16)
    let data = Data(hex: "a161613b" + String(repeating: "0", count: 16 - digits.count) + digits)
    let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: data)
    #expect(unarchiver.decodeDouble(forKey: "a") == Double("\(-1 - Int128(argument))"))
    #expect(unarchiver.error == nil)
  }

  @Test func numbersAreReadAsEachOtherIfNothingIsLost() throws {
    try scripted { coder in
      coder.encode(7 as Int, forKey: "int")
      coder.encode(7.0 as Double, forKey: "double")
      coder.encode(1 as Int, forKey: "one")
      coder.encode(NSNumber(value: 9), forKey: "object")
      coder.encode(true, forKey: "bool")
    } _: { coder in
      #expect(coder.decodeDouble(forKey: "int") == 7)
      #expect(coder.decodeFloat(forKey: "int") == 7)
      #expect(coder.decodeInteger(forKey: "double") == 7)
      #expect(coder.decodeBool(forKey: "one"))
      #expect(coder.decodeInteger(forKey: "object") == 9)
      #expect(coder.decodeInteger(forKey: "bool") == 1)
      #expect(coder.decodeObject(of: NSNumber.self, forKey: "int") == 7)
    }
  }

  @Test(arguments: ["", "k", "a key of twenty-three by", "a key that takes more than twenty-three bytes", "ключ é"])
  func keysOfAnyLength(_ key: String) throws {
    for other in ["", "z"] where other != key {
      try scripted { coder in
        coder.encode(1 as Int, forKey: key)
        coder.encode(2 as Int, forKey: other)
      } _: { coder in
        #expect(coder.decodeInteger(forKey: other) == 2)
        #expect(coder.decodeInteger(forKey: key) == 1)
        #expect(!coder.containsValue(forKey: key + "x"))
      }
    }
  }

  @Test(arguments: [0, 1, 5, 16, 17, 23, 24, 25, 255, 256, 300, 70_000])
  func anyNumberOfFieldsInAnyOrder(_ count: Int) throws {
    let shared = NSMutableArray(array: ["shared"])
    try scripted { coder in
      coder.encode(shared, forKey: "shared 1")
      for index in 0..<count { coder.encode(index, forKey: "key \(index)") }
      coder.encode(shared, forKey: "shared 2")
    } _: { coder in
      for index in 0..<count where coder.decodeInteger(forKey: "key \(index)") != index { Issue.record("\(index)") }
      for index in (0..<count).reversed() where coder.decodeInteger(forKey: "key \(index)") != index {
        Issue.record("\(index)")
      }
      let first = coder.decodeObject(forKey: "shared 1") as? NSMutableArray
      #expect(first != nil && coder.decodeObject(forKey: "shared 2") as? NSMutableArray === first)
      #expect(!coder.containsValue(forKey: "key \(count)"))
    }
  }

  @Test func fieldsOutOfOrderTwiceAndNotAtAll() throws {
    try scripted { coder in
      for key in ["a", "b", "c", "d"] { coder.encode(Box(key as Any?), forKey: key) }
    } _: { coder in
      func value(_ key: String) -> String? {
        ((coder.decodeObject(forKey: key) as? Box)?.value as? NSString).map { $0 as String }
      }
      #expect(value("a") == "a")
      #expect(value("c") == "c")
      #expect(value("b") == "b")
      #expect(value("b") == "b")
      #expect(value("x") == nil)
      #expect(value("d") == "d")
      #expect(coder.containsValue(forKey: "a") && !coder.containsValue(forKey: "x"))
      #expect(coder.error == nil)
    }
  }

  @Test func whatIsNotThereIsNilOrZero() throws {
    try scripted { _ in
    } _: { coder in
      #expect(coder.decodeObject(forKey: "x") == nil)
      #expect(coder.decodeObject(of: NSString.self, forKey: "x") == nil)
      #expect(coder.decodeInteger(forKey: "x") == 0)
      #expect(coder.decodeDouble(forKey: "x") == 0)
      #expect(!coder.decodeBool(forKey: "x"))
      coder.withDecodedUnsafeBytes(forKey: "x") { #expect($0 == nil) }
      #expect(coder.error == nil)
    }
  }

  @Test func nilIsAValue() throws {
    try scripted { coder in
      coder.encode(nil as Any?, forKey: "nil")
      coder.encode(NSNull(), forKey: "null")
    } _: { coder in
      #expect(coder.containsValue(forKey: "nil"))
      #expect(coder.decodeObject(forKey: "nil") == nil)
      #expect(coder.decodeObject(forKey: "null") is NSNull)
    }
    #expect(try roundTrip(nil) == nil)
  }

  @Test(arguments: [0, 1, 23, 24, 255, 256, 70_000]) func bytes(_ count: Int) throws {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
    try scripted { coder in
      coder.encodeBytes(bytes, length: count, forKey: "bytes")
      coder.encode(Data(bytes) as Any?, forKey: "data")
      coder.encodeBytes(nil, length: 0, forKey: "none")
    } _: { coder in
      coder.withDecodedUnsafeBytes(forKey: "bytes") { #expect($0.map { Array($0) } == bytes) }
      coder.withDecodedUnsafeBytes(forKey: "data") { #expect($0.map { Array($0) } == bytes) }
      coder.withDecodedUnsafeBytes(forKey: "none") { #expect($0?.count == 0) }
      #expect((coder.decodeObject(forKey: "bytes") as? NSData)?.length == count)
    }
  }

  @Test func sharedDataIsReadAsBytesToo() throws {
    let data = NSData(data: Data(repeating: 7, count: 100))
    try scripted { coder in
      coder.encode(data, forKey: "first")
      coder.encode(data, forKey: "second")
    } _: { coder in
      coder.withDecodedUnsafeBytes(forKey: "first") { #expect($0?.count == 100) }
      #expect((coder.decodeObject(forKey: "second") as? NSData)?.length == 100)
    }
  }

  @Test func valuesWithoutKeys() throws {
    try scripted { coder in
      coder.encode("first" as Any?)
      coder.encode(1 as Int, forKey: "key")
      coder.encode(nil as Any?)
      coder.encode(Data([1, 2]))
      coder.encodeRootObject(NSNumber(value: 3))
      coder.encodePropertyList(["a": [1, 2]])
      coder.encodeBytes([UInt8](repeating: 9, count: 3), length: 3)
      coder.encodeConditionalObject(NSObject())
    } _: { coder in
      #expect(coder.decodeObject() as? NSString == "first")
      #expect(coder.decodeObject() == nil)
      #expect(coder.decodeInteger(forKey: "key") == 1)
      #expect(coder.decodeData() == Data([1, 2]))
      #expect(coder.decodeObject() as? NSNumber == 3)
      let list = coder.decodePropertyList() as? NSDictionary
      #expect(list?.object(forKey: "a") as? NSArray == [1, 2])
      #expect(coder.decodeData() == Data([9, 9, 9]))
      #expect(coder.error == nil)
    }
  }

  @Test func oneMoreValueWithoutAKeyIsAnError() {
    let error = message {
      try scripted { coder in
        coder.encode("only" as Any?)
      } _: { coder in
        _ = coder.decodeObject()
        _ = coder.decodeObject()
      }
    }
    #expect(error.contains("only 1"))
  }

  @Test func valuesOfObjectiveCTypes() throws {
    func encode<T>(_ coder: NSCoder, _ type: String, _ value: T) {
      withUnsafePointer(to: value) { coder.encodeValue(ofObjCType: type, at: $0) }
    }
    func decode<T>(_ coder: NSCoder, _ type: String, _ value: T) -> T {
      var value = value
      withUnsafeMutablePointer(to: &value) { coder.decodeValue(ofObjCType: type, at: $0) }
      return value
    }
    try scripted { coder in
      encode(coder, "c", Int8.min)
      encode(coder, "C", UInt8.max)
      encode(coder, "s", Int16.min)
      encode(coder, "S", UInt16.max)
      encode(coder, "i", Int32.min)
      encode(coder, "I", UInt32.max)
      encode(coder, "q", Int64.min)
      encode(coder, "Q", UInt64.max)
      encode(coder, "f", Float(1.5))
      encode(coder, "d", Double(0.1))
      encode(coder, "B", true)
      coder.encodeArray(ofObjCType: "i", count: 3, at: [1, 2, 3] as [Int32])
      coder.encode(NSPoint(x: 1, y: 2.5), forKey: "point")
      coder.encode(NSRect(x: 1, y: 2, width: 3, height: 4), forKey: "rectangle")
      coder.encode(NSSize(width: 5, height: 6), forKey: "size")
    } _: { coder in
      #expect(decode(coder, "c", Int8(0)) == .min)
      #expect(decode(coder, "C", UInt8(0)) == .max)
      #expect(decode(coder, "s", Int16(0)) == .min)
      #expect(decode(coder, "S", UInt16(0)) == .max)
      #expect(decode(coder, "i", Int32(0)) == .min)
      #expect(decode(coder, "I", UInt32(0)) == .max)
      #expect(decode(coder, "q", Int64(0)) == .min)
      #expect(decode(coder, "Q", UInt64(0)) == .max)
      #expect(decode(coder, "f", Float(0)) == 1.5)
      #expect(decode(coder, "d", Double(0)) == 0.1)
      #expect(decode(coder, "B", false))
      var array: [Int32] = [0, 0, 0]
      coder.decodeArray(ofObjCType: "i", count: 3, at: &array)
      #expect(array == [1, 2, 3])
      #expect(coder.decodePoint(forKey: "point") == NSPoint(x: 1, y: 2.5))
      #expect(coder.decodeRect(forKey: "rectangle") == NSRect(x: 1, y: 2, width: 3, height: 4))
      #expect(coder.decodeSize(forKey: "size") == NSSize(width: 5, height: 6))
      #expect(coder.error == nil)
    }
  }

  @Test(arguments: [
    "^v", "", "ii", "{pair=ii}", "[3i", "[99999999999999999999i]", "[-1i]", "[[2i]]", "?", "[]", "*", "@",
  ])
  func typesWithoutACodingAreAnError(_ type: String) {
    let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
    withUnsafePointer(to: 0) { archiver.encodeValue(ofObjCType: type, at: $0) }
    #expect("\(archiver.error.map { "\($0)" } ?? "")".contains("Objective-C type"))
    #expect(archiver.encodedData.isEmpty)
  }

  @Test func manyKeysAtTheTopLevel() throws {
    let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
    archiver.encode("a" as Any?, forKey: "first")
    archiver.encode(2 as Int, forKey: "second")
    archiver.encode(Box("b" as Any?), forKey: "third")
    archiver.finishEncoding()
    let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    #expect(unarchiver.decodeObject(of: NSString.self, forKey: "first") == "a")
    #expect(
      (unarchiver.decodeObject(of: [Box.self, NSString.self], forKey: "third") as? Box)?.value as? NSString == "b")
    #expect(unarchiver.decodeInteger(forKey: "second") == 2)
    unarchiver.finishDecoding()
    #expect(unarchiver.decodeInteger(forKey: "second") == 0)
    #expect(unarchiver.error == nil)
  }

  @Test func whatIsEncodedAfterTheEndIsAnError() {
    let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
    archiver.encode(1 as Int, forKey: "a")
    #expect(!archiver.encodedData.isEmpty)
    archiver.encode(2 as Int, forKey: "b")
    #expect("\(archiver.error!)".contains("after the end"))
  }

  @Test func finishingWithinAnObjectIsAnError() {
    Scripted.encode = { ($0 as? CBORKeyedArchiver)?.finishEncoding() }
    defer { Scripted.encode = { _ in } }
    #expect(message { _ = try archive(Scripted()) }.contains("while an object was being encoded"))
  }

  @Test(arguments: [2, 40]) func aKeyThatIsEncodedTwiceIsAnError(_ count: Int) {
    let error = message {
      try scripted { coder in
        for index in 1..<count { coder.encode(index, forKey: "key \(index)") }
        coder.encode(0 as Int, forKey: "key 1")
      } _: { _ in
      }
    }
    #expect(error.contains("\"key 1\"") && error.contains("Scripted"))
  }

  @Test func anErrorThatAnObjectReportsIsThrownAsItIs() throws {
    struct Failure: Error {}
    Scripted.encode = { $0.failWithError(Failure()) }
    #expect(throws: Failure.self) {
      try CBORKeyedArchiver.archivedData(withRootObject: Scripted(), requiringSecureCoding: true)
    }
    Scripted.encode = { _ in }
    let data = try archive(Scripted())
    Scripted.decode = {
      $0.failWithError(Failure())
      return true
    }
    defer { Scripted.decode = { _ in true } }
    #expect(throws: (any Error).self) { try unarchive(data) }
    do {
      _ = try unarchive(data)
    } catch {
      #expect(error is Failure)
    }
  }

  @Test func initThatReturnsNilIsAnErrorThatNamesTheClass() throws {
    let data = try archive([Scripted()])
    Scripted.decode = { _ in false }
    defer { Scripted.decode = { _ in true } }
    #expect(message { _ = try unarchive(data) }.contains("Scripted"))
  }

  @Test(arguments: [true, false]) func wrongKindsAreErrorsAndZero(_ policy: Bool) throws {
    let decodings: [(String, (NSCoder) -> Bool)] = [
      ("string", { $0.decodeInteger(forKey: "string") == 0 }),
      ("string", { $0.decodeInt32(forKey: "string") == 0 }),
      ("string", { $0.decodeDouble(forKey: "string") == 0 }),
      ("string", { $0.decodeFloat(forKey: "string") == 0 }),
      ("string", { !$0.decodeBool(forKey: "string") }),
      ("string", { $0.decodeObject(of: NSNumber.self, forKey: "string") == nil }),
      ("string", { $0.withDecodedUnsafeBytes(forKey: "string") { $0 == nil } }),
      ("box", { $0.decodeInteger(forKey: "box") == 0 }),
      ("box", { $0.decodeObject(of: NSString.self, forKey: "box") == nil }),
      ("half", { $0.decodeInteger(forKey: "half") == 0 }),
      ("large", { $0.decodeInt32(forKey: "large") == 0 }),
      ("large", { !$0.decodeBool(forKey: "large") }),
      ("nil", { $0.decodeInteger(forKey: "nil") == 0 }),
    ]
    for (key, decoding) in decodings {
      var isZero = false
      var later: Int?
      let error = message {
        try scripted { coder in
          coder.encode("text" as Any?, forKey: "string")
          coder.encode(Box(nil), forKey: "box")
          coder.encode(0.5 as Double, forKey: "half")
          coder.encode(Int.max, forKey: "large")
          coder.encode(nil as Any?, forKey: "nil")
          coder.encode(5 as Int, forKey: "good")
        } _: { coder in
          isZero = decoding(coder)
          later = coder.decodeInteger(forKey: "good")
        }
      }
      #expect(isZero && later == 0, "\(key)")
      #expect(error.contains("Scripted.\(key)"), "\(error)")
    }
  }
}
