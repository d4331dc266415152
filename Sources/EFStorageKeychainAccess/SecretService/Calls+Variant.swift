import CSecret

/// GLib's calls for variants, behind ``Variant``.
extension Calls {
  static func release(variant: OpaquePointer) { g_variant_unref(variant) }
  static func retain(variant: OpaquePointer) -> OpaquePointer { g_variant_ref(variant) }
  /// Takes over a floating reference; adds one to a reference that is not floating.
  static func sink(variant: OpaquePointer) -> OpaquePointer { g_variant_ref_sink(variant) }

  // MARK: - Making them. Each result is floating.

  /// `text` must not contain NUL.
  static func variant(string text: String) -> OpaquePointer { g_variant_new_string(text) }
  /// `path` must come from the service.
  static func variant(path: String) -> OpaquePointer { g_variant_new_object_path(path) }
  static func variant(boolean: Bool) -> OpaquePointer { g_variant_new_boolean(boolean ? 1 : 0) }
  static func variant(uint32: UInt32) -> OpaquePointer { g_variant_new_uint32(uint32) }
  static func variant(boxing variant: OpaquePointer) -> OpaquePointer { g_variant_new_variant(variant) }

  static func variant(entry key: OpaquePointer, _ value: OpaquePointer) -> OpaquePointer {
    g_variant_new_dict_entry(key, value)
  }

  static func variant(tuple elements: [OpaquePointer]) -> OpaquePointer {
    elements.map(Optional.some).withUnsafeBufferPointer { g_variant_new_tuple($0.baseAddress, gsize($0.count)) }
  }

  static func variant(array elements: [OpaquePointer], of type: StaticString) -> OpaquePointer {
    elements.map(Optional.some).withUnsafeBufferPointer {
      g_variant_new_array(variantType(type), $0.baseAddress, gsize($0.count))
    }
  }

  // MARK: - Reading them

  static func variant(_ variant: OpaquePointer, is type: StaticString) -> Bool {
    g_variant_is_of_type(variant, variantType(type)) != 0
  }

  /// For a string or an object path.
  static func text(of variant: OpaquePointer) -> String {
    var count: gsize = 0
    let start = g_variant_get_string(variant, &count)
    return String(decoding: UnsafeRawBufferPointer(start: start, count: Int(count)), as: UTF8.self)
  }

  static func boolean(of variant: OpaquePointer) -> Bool { g_variant_get_boolean(variant) != 0 }
  static func uint64(of variant: OpaquePointer) -> UInt64 { UInt64(g_variant_get_uint64(variant)) }
  static func count(of variant: OpaquePointer) -> Int { Int(g_variant_n_children(variant)) }
  /// Retained.
  static func child(_ index: Int, of variant: OpaquePointer) -> OpaquePointer {
    g_variant_get_child_value(variant, gsize(index))
  }
  /// Retained.
  static func unboxed(_ variant: OpaquePointer) -> OpaquePointer { g_variant_get_variant(variant) }

  /// A type is its text.
  static func variantType(_ type: StaticString) -> OpaquePointer {
    precondition(type.hasPointerRepresentation)
    return OpaquePointer(type.utf8Start)
  }
}
