import Foundation

/// A custom class with fields of every kind, none of them force-unwrapped.
final class UntrustedNode: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }

  var fields: [String: Any] = [:]
  var child: Any?

  init(_ child: Any?) {
    self.child = child
    super.init()
  }

  func encode(with coder: NSCoder) {
    coder.encode("text" as Any?, forKey: "text")
    coder.encode(5, forKey: "integer")
    coder.encode(Int32(-7), forKey: "int32")
    coder.encode(2.5, forKey: "double")
    coder.encode(Float(0.5), forKey: "float")
    coder.encode(true, forKey: "bool")
    coder.encodeBytes([1, 2, 3], length: 3, forKey: "bytes")
    coder.encode(nil as Any?, forKey: "nil")
    coder.encode(child, forKey: "child")
    coder.encode("unkeyed" as Any?)
    var number: Int32 = 9
    coder.encodeValue(ofObjCType: "i", at: &number)
  }

  init?(coder: NSCoder) {
    super.init()
    fields["text"] = coder.decodeObject(of: NSString.self, forKey: "text")
    fields["integer"] = coder.decodeInteger(forKey: "integer")
    fields["int32"] = coder.decodeInt32(forKey: "int32")
    fields["double"] = coder.decodeDouble(forKey: "double")
    fields["float"] = coder.decodeFloat(forKey: "float")
    fields["bool"] = coder.decodeBool(forKey: "bool")
    fields["bytes"] = coder.withDecodedUnsafeBytes(forKey: "bytes") { $0.map { Data($0) } }
    fields["nil"] = coder.decodeObject(forKey: "nil")
    fields["plist"] = coder.containsValue(forKey: "plist") ? coder.decodePropertyList(forKey: "plist") : nil
    child = coder.decodeObject(forKey: "child")
    fields["unkeyed"] = coder.decodeObject()
    var number: Int32 = 0
    coder.decodeValue(ofObjCType: "i", at: &number)
    fields["number"] = number
    if coder.error != nil { return nil }
  }
}
