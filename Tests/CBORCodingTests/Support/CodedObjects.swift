import Foundation

@testable import CBORCoding

/// Encoded and decoded by closures.
final class Scripted: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }

  /// The closures of the next objects, per thread since tests run in parallel.
  static var encode: (NSCoder) -> Void {
    get { Thread.current.threadDictionary["Scripted.encode"] as? (NSCoder) -> Void ?? { _ in } }
    set { Thread.current.threadDictionary["Scripted.encode"] = newValue }
  }
  static var decode: (NSCoder) -> Bool {
    get { Thread.current.threadDictionary["Scripted.decode"] as? (NSCoder) -> Bool ?? { _ in true } }
    set { Thread.current.threadDictionary["Scripted.decode"] = newValue }
  }

  override init() {}
  func encode(with coder: NSCoder) { Self.encode(coder) }
  init?(coder: NSCoder) {
    super.init()
    guard Self.decode(coder) else { return nil }
  }
}

class Box: NSObject, NSSecureCoding {
  class var supportsSecureCoding: Bool { true }
  let value: Any?

  init(_ value: Any?) { self.value = value }

  func encode(with coder: NSCoder) { coder.encode(value, forKey: "value") }
  required init?(coder: NSCoder) { value = coder.decodeObject(forKey: "value") }
}

/// A ``Box`` without secure coding.
final class InsecureBox: NSObject, NSCoding {
  let value: Any?

  init(_ value: Any?) { self.value = value }
  func encode(with coder: NSCoder) { coder.encode(value, forKey: "value") }
  init?(coder: NSCoder) { value = coder.decodeObject(forKey: "value") }
}

/// Not an `NSObject`.
final class ForeignBox: NSCoding {
  let number: Int

  init(_ number: Int) { self.number = number }
  func encode(with coder: NSCoder) { coder.encode(number, forKey: "number") }
  init?(coder: NSCoder) { number = coder.decodeInteger(forKey: "number") }
}

class Numbered: NSObject, NSSecureCoding {
  class var supportsSecureCoding: Bool { true }
  let number: Int

  init(_ number: Int) { self.number = number }
  func encode(with coder: NSCoder) { coder.encode(number, forKey: "number") }
  required init?(coder: NSCoder) { number = coder.decodeInteger(forKey: "number") }
}

enum Namespace {
  final class Nested: Numbered {}
  final class Generic<Element>: Numbered {}
}

/// A tree node with a reference to its parent, which `link` decodes.
final class TreeNode: NSObject, NSSecureCoding {
  static var supportsSecureCoding: Bool { true }
  static var link: (TreeNode, NSCoder) -> Void {
    get { Thread.current.threadDictionary["TreeNode.link"] as? (TreeNode, NSCoder) -> Void ?? { _, _ in } }
    set { Thread.current.threadDictionary["TreeNode.link"] = newValue }
  }

  let children: [TreeNode]
  weak var parent: TreeNode?

  init(_ children: [TreeNode]) {
    self.children = children
    super.init()
    for child in children { child.parent = self }
  }

  func encode(with coder: NSCoder) {
    coder.encode(children as Any?, forKey: "children")
    coder.encodeConditionalObject(parent, forKey: "parent")
  }

  init?(coder: NSCoder) {
    guard let children = coder.decodeObject(of: [NSArray.self, TreeNode.self], forKey: "children") as? [TreeNode]
    else { return nil }
    self.children = children
    super.init()
    Self.link(self, coder)
  }
}

func roundTrip(_ object: Any?) throws -> Any? {
  try unarchive(archive(object))
}

func archive(_ object: Any?) throws -> Data {
  let archiver = CBORKeyedArchiver(requiringSecureCoding: false)
  archiver.encode(object, forKey: NSKeyedArchiveRootObjectKey)
  let data = archiver.encodedData
  if let error = archiver.error { throw error }
  return data
}

func unarchive(_ data: Data) throws -> Any? {
  let unarchiver = try CBORKeyedUnarchiver(forReadingFrom: data)
  unarchiver.requiresSecureCoding = false
  let object = unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
  if let error = unarchiver.error { throw error }
  return object
}

/// Encodes an object with `encode` and decodes it with `decode`. Throws the unarchiver's error.
func scripted(_ encode: @escaping (NSCoder) -> Void, _ decode: @escaping (NSCoder) -> Void) throws {
  Scripted.encode = encode
  Scripted.decode = { coder in
    decode(coder)
    return true
  }
  defer {
    Scripted.encode = { _ in }
    Scripted.decode = { _ in true }
  }
  _ = try roundTrip(Scripted())
}

/// The message of the error that `body` throws, with its underlying one; empty if none.
func message(_ body: () throws -> Void) -> String {
  do {
    try body()
    return ""
  } catch {
    return "\(error)"
  }
}
